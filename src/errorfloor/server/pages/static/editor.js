// Where a question is written: CodeMirror in the place of a text area, which stays where no script runs.

import {
  acceptCompletion,
  autocompletion,
  completionKeymap,
  EditorView,
  history,
  historyKeymap,
  keymap,
  sql,
  SQLDialect,
  standardKeymap,
  syntaxHighlighting,
  tagHighlighter,
  tags,
} from "./codemirror.js";
import { fitting, COLOURED } from "./vocabulary.js";

const NONCE = document.querySelector("script[nonce]").nonce; // the policy of the page allows styles that carry it
const COLOURS = tagHighlighter([
  { tag: tags.keyword, class: "word" },
  { tag: [tags.standard(tags.name), tags.typeName], class: "function" },
  { tag: [tags.literal, tags.special(tags.string)], class: "value" },
  { tag: tags.comment, class: "remark" },
]);
const SQL = SQLDialect.define(COLOURED);

/** An editor with the label, the size and the id of a text area, whose place it takes; `words` may arrive later. */
export class Editor {
  #view;
  #written = () => {};
  #writing = false; // by the page, and not by its reader

  constructor(area, words) {
    this.#view = new EditorView({
      doc: area.value,
      extensions: [
        EditorView.cspNonce.of(NONCE),
        EditorView.lineWrapping,
        EditorView.contentAttributes.of(namesOf(area, () => this.focus())),
        EditorView.updateListener.of((update) => {
          if (update.docChanged && !this.#writing) this.#written();
        }),
        EditorView.domEventHandlers({ beforeinput: overwritten }),
        sql({ dialect: SQL }),
        syntaxHighlighting(COLOURS),
        history(),
        completion(words),
        // Tab takes a name only while names are shown; otherwise it leads on, as everywhere on the page
        keymap.of([...completionKeymap, { key: "Tab", run: acceptCompletion }, ...historyKeymap, ...standardKeymap]),
      ],
    });
    this.#view.dom.classList.toggle("low", area.classList.contains("low"));
    area.replaceWith(this.#view.dom);
  }

  get value() {
    return this.#view.state.doc.toString();
  }

  set value(text) {
    this.#change(() => ({ changes: { from: 0, to: this.#view.state.doc.length, insert: text } }));
  }

  get focused() {
    return this.#view.hasFocus;
  }

  /** Put a name where the caret is. */
  insert(name) {
    this.#change((state) => state.replaceSelection(name));
    this.focus();
  }

  focus() {
    this.#view.focus();
  }

  /** Call something whenever the reader changes the text. */
  onWritten(run) {
    this.#written = run;
  }

  #change(transaction) {
    this.#writing = true;
    this.#view.dispatch(transaction(this.#view.state));
    this.#writing = false;
  }
}

/** Replace a selection by what is typed over it: Chromium would carry colours over as styles, which the policy forbids. */
function overwritten(event, view) {
  const chosen = document.getSelection(); // which the editor's own follows a moment later
  if (event.inputType !== "insertText" || !event.data || view.composing || chosen.isCollapsed) return false;
  const ends = [
    view.posAtDOM(chosen.anchorNode, chosen.anchorOffset),
    view.posAtDOM(chosen.focusNode, chosen.focusOffset),
  ];
  const [from, to] = [Math.min(...ends), Math.max(...ends)];
  event.preventDefault();
  const selection = { anchor: from + event.data.length };
  view.dispatch({ changes: { from, to, insert: event.data }, selection, userEvent: "input.type", scrollIntoView: true });
  return true;
}

/** What tells an assistant the name of the editor; a click on its label leads to it, as for a text area. */
function namesOf(area, focus) {
  const [label] = area.labels;
  label.id ||= `${area.id}-label`;
  label.addEventListener("click", focus);
  const described = area.getAttribute("aria-describedby");
  return { id: area.id, "aria-labelledby": label.id, ...(described ? { "aria-describedby": described } : {}) };
}

/** Names that continue what is typed, in an order of our own; the newest words are asked for each time. */
function completion(words) {
  const source = (context) => {
    const { before, found } = fitting(words(), context.state.doc.toString(), context.pos, context.explicit);
    const options = found.map((entry) => ({ label: entry.word.trim(), apply: entry.word, detail: entry.hint }));
    const update = (result, from, to, next) => source(next); // at once, so that a key typed meanwhile finds the new names
    return options.length ? { from: context.pos - before.length, options, filter: false, update } : null;
  };
  return autocompletion({
    override: [source],
    icons: false,
    activateOnTypingDelay: 0,
    interactionDelay: 0,
    tooltipClass: () => "names",
  });
}

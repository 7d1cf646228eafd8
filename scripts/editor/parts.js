// What the pages use of CodeMirror; everything else is left out of the bundle.

export { acceptCompletion, autocompletion, completionKeymap } from "@codemirror/autocomplete";
export { history, historyKeymap, standardKeymap } from "@codemirror/commands";
export { sql, SQLDialect } from "@codemirror/lang-sql";
export { syntaxHighlighting } from "@codemirror/language";
export { EditorView, keymap } from "@codemirror/view";
export { tagHighlighter, tags } from "@lezer/highlight";

/* Search needs a worker, and browsers start none for a page that was opened from a disk: there its script runs in a
   hidden frame, and messages go to and fro between the frame and the page. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inside = frame.contentWindow;
      this.waiting = [];
      this.inside = inside;
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      inside.importScripts = (...urls) =>
        urls.reduce(
          (before, one) =>
            before.then(
              () =>
                new Promise((resolve, reject) => {
                  const script = inside.document.createElement("script");
                  script.src = one;
                  script.onload = resolve;
                  script.onerror = reject;
                  inside.document.body.append(script);
                }),
            ),
          Promise.resolve(),
        );
      const script = inside.document.createElement("script");
      script.src = url;
      script.onload = () => {
        this.ready = true;
        this.waiting.forEach((data) => this.postMessage(data));
      };
      inside.document.body.append(script);
    }

    postMessage(data) {
      if (this.ready) this.inside.dispatchEvent(new MessageEvent("message", { data }));
      else this.waiting.push(data);
    }

    terminate() {
      this.inside.frameElement.remove();
    }
  };
}

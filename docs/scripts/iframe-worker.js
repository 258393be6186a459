// Pages that are opened from disk may not start workers, which the search of the theme needs. There, and only there,
// a hidden frame takes the worker's place: it loads the same script and speaks by the same messages.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      this.ready = new Promise((done) => {
        frame.srcdoc = "<!doctype html><title>search</title>";
        frame.onload = () => {
          const inner = frame.contentWindow;
          inner.importScripts = (...scripts) =>
            scripts.reduce((before, script) => before.then(() => this.load(inner, script)), Promise.resolve());
          inner.postMessage = (data) => {
            const message = new MessageEvent("message", { data });
            this.dispatchEvent(message);
            if (this.onmessage) this.onmessage(message);
          };
          this.load(inner, url).then(() => done(inner));
        };
      });
      (document.body || document.documentElement).appendChild(frame);
      this.frame = frame;
    }
    load(inner, url) {
      return new Promise((done, failed) => {
        const script = inner.document.createElement("script");
        Object.assign(script, { src: new URL(url, document.baseURI).href, onload: done, onerror: failed });
        inner.document.head.appendChild(script);
      });
    }
    postMessage(data) {
      this.ready.then((inner) => inner.dispatchEvent(new inner.MessageEvent("message", { data })));
    }
    terminate() {
      this.frame.remove();
    }
  };
}

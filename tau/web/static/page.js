// The page around textual-serve's terminal: which tab it is, how it is let in, its colours, its keys, its end.
"use strict";

(() => {
  const ENDED = 4001, TAKEN = 4002, LEAVING = 4003;
  const KEY = "tau-key", TAB = "tau-tab", FRESH = "tau-fresh";
  const RETRY_MS = 1500;
  const SCHEMES = /^(https?:\/\/|mailto:)/i;
  const prefersLight = matchMedia("(prefers-color-scheme: light)").matches;
  document.documentElement.classList.toggle("light", prefersLight);

  // A tab keeps its name over a reload, and so finds its app again.
  const newTab = () => {
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  };
  let tab = sessionStorage.getItem(TAB);
  if (!tab) sessionStorage.setItem(TAB, (tab = newTab()));
  const fresh = sessionStorage.getItem(FRESH) === "1";
  sessionStorage.removeItem(FRESH);

  let socket = null;
  let ended = null;

  // textual-serve's script opens the socket; this adds who asks, and hears what the page is told.
  const Socket = window.WebSocket;
  window.WebSocket = class extends Socket {
    constructor(address) {
      const url = new URL(address, location.href);
      url.protocol = location.protocol === "https:" ? "wss:" : "ws:";
      url.searchParams.set("tab", tab);
      url.searchParams.set("light", prefersLight ? "1" : "0");
      if (fresh) url.searchParams.set("fresh", "1");
      super(url.href, ["tau", localStorage.getItem(KEY) || "none"]);
      socket = this;
      this.addEventListener("message", (event) => {
        if (typeof event.data !== "string") return;
        const [kind, content] = JSON.parse(event.data);
        if (kind === "look") look(content);
        else if (kind === "title") document.title = content;
        else if (kind === "ended") ended = content;
      });
      this.addEventListener("open", () => {
        focusTerminal();
        if (!document.hasFocus()) this.send(JSON.stringify(["blur"]));
      });
      this.addEventListener("close", (event) => over(event.code));
    }
  };

  const look = (content) => {
    document.documentElement.classList.toggle("light", content.dark === false);
    if (/^#[0-9a-f]{6}$/i.test(content.background)) {
      document.documentElement.style.setProperty("--background", content.background);
    }
  };

  const focusTerminal = () => document.querySelector(".xterm-helper-textarea")?.focus();
  window.addEventListener("focus", focusTerminal);

  // The end: why, what the app said last, and where to go from here --------------------------------

  const restart = (wanted) => {
    if (wanted === "fresh") {
      sessionStorage.setItem(TAB, newTab());
      sessionStorage.setItem(FRESH, "1");
    }
    location.reload();
  };

  const show = (title, text, keys) => {
    const dialog = document.getElementById("over");
    document.getElementById("over-title").textContent = title;
    document.getElementById("over-text").textContent = text;
    document.getElementById("over-keys").replaceChildren(
      ...keys.map(([label, action]) => {
        const button = document.createElement("button");
        button.type = "button";
        button.textContent = label;
        button.addEventListener("click", action);
        return button;
      }),
    );
    document.title = `tau · ${title.toLowerCase()}`;
    if (!dialog.open) dialog.showModal();
  };

  const again = ["Go on with this session", () => restart("same")];
  const anew = ["New session", () => restart("fresh")];

  const over = (code) => {
    const said = ended ? ended.text : "";
    if (code === TAKEN) {
      show("Open in another tab", "This session is shown there now.", [["Show it here", () => restart("same")], anew]);
    } else if (code === LEAVING) {
      show("tau web has ended", said, []);
    } else if (ended) {
      show(ended.code ? "tau stopped" : "Session closed", said, ended.resumable ? [again, anew] : [anew]);
    } else {
      show("No connection", "Trying again…", []);
      retry();
    }
  };

  const retry = async () => {
    try {
      const answer = await fetch("/alive", { cache: "no-store" });
      if (answer.ok) return restart("same");
      return show("Not let in any more", "tau web was started anew: open the address that it printed.", []);
    } catch {
      setTimeout(retry, RETRY_MS);
    }
  };
  document.addEventListener("cancel", (event) => event.preventDefault(), true);

  // Keys that a terminal's script would keep from the browser, or not tell apart --------------------

  const type = (text) => socket?.readyState === Socket.OPEN && socket.send(JSON.stringify(["stdin", text]));

  window.addEventListener(
    "keydown",
    (event) => {
      if (document.getElementById("over").open) return;
      const plain = !event.altKey && !event.metaKey;
      if (plain && event.ctrlKey && event.code === "KeyV") {
        event.stopImmediatePropagation(); // the browser pastes
      } else if (plain && event.shiftKey && !event.ctrlKey && event.key === "Enter" && !event.isComposing) {
        event.stopImmediatePropagation();
        event.preventDefault();
        type("\x1b[13;2u");
      }
    },
    true,
  );

  // Addresses: once, in a tab that knows nothing of this one -----------------------------------------

  const open = window.open.bind(window);
  let last = { url: "", at: 0 };
  const openTab = (url) => {
    const twice = url === last.url && Date.now() - last.at < 1500; // the app and the terminal both saw the click
    last = { url, at: Date.now() };
    if (!twice && SCHEMES.test(url)) open(url, "_blank", "noopener,noreferrer");
  };
  window.open = (url) => {
    if (url) {
      openTab(String(url));
      return null;
    }
    return { opener: null, location: { set href(target) { openTab(String(target)); } } };
  };
})();

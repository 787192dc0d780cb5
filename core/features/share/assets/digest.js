"use strict";

// The check that comes before anything is drawn. SHA-256 is written out because crypto.subtle is missing where a page
// is not a secure context, as in some viewers of attachments.

const PRIMES = Array.from({ length: 312 }, (_, n) => n).filter(n => n > 1 && !Array.from({ length: 16 }, (_, d) => d + 2).some(d => d < n && n % d === 0));
const fractionBits = root => ((root - Math.floor(root)) * 2 ** 32) | 0;
const ROUND_CONSTANTS = PRIMES.slice(0, 64).map(prime => fractionBits(Math.cbrt(prime)));
const FIRST_STATE = PRIMES.slice(0, 8).map(prime => fractionBits(Math.sqrt(prime)));

/** SHA-256 (FIPS 180-4) of bytes, or of a text in UTF-8, as 64 hexadecimal digits. */
function sha256(content) {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content, blocks = (bytes.length + 72) >> 6;
  const padded = new Uint8Array(blocks * 64), view = new DataView(padded.buffer);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  view.setUint32(padded.length - 8, Math.floor(bytes.length / 2 ** 29));
  view.setUint32(padded.length - 4, bytes.length << 3);
  const state = Int32Array.from(FIRST_STATE), words = new Int32Array(64);
  const turned = (word, by) => (word >>> by) | (word << (32 - by));
  for (let block = 0; block < blocks; block++) {
    for (let i = 0; i < 16; i++) words[i] = view.getInt32(block * 64 + i * 4);
    for (let i = 16; i < 64; i++) {
      const early = words[i - 15], late = words[i - 2];
      const s0 = turned(early, 7) ^ turned(early, 18) ^ (early >>> 3), s1 = turned(late, 17) ^ turned(late, 19) ^ (late >>> 10);
      words[i] = words[i - 16] + s0 + words[i - 7] + s1;
    }
    let [a, b, c, d, e, f, g, h] = state;
    for (let i = 0; i < 64; i++) {
      const choice = (e & f) ^ (~e & g), majority = (a & b) ^ (a & c) ^ (b & c);
      const first = (h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + choice + ROUND_CONSTANTS[i] + words[i]) | 0;
      const second = ((turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + majority) | 0;
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
    }
    [a, b, c, d, e, f, g, h].forEach((word, i) => (state[i] += word));
  }
  return Array.from(state, word => (word >>> 0).toString(16).padStart(8, "0")).join("");
}

const partText = name => document.getElementById(`part-${name}`)?.textContent ?? "";

/** What stands around the parts from the first byte to the last, as the browser has read it. */
function pageText() {
  const whole = document.documentElement.cloneNode(true), nodes = [...document.childNodes].map(node => node.nodeName).join(" ");
  for (const part of whole.querySelectorAll("[id^=part-], title")) part.textContent = "";
  return [nodes, document.querySelector("title").textContent, whole.outerHTML].join("\n");
}

/** For each part its digest in the manifest, that of what is here, and whether they are the same; the manifest's own digest. */
function checkedParts() {
  const parts = Object.entries(JSON.parse(partText("manifest")).parts).map(([name, wanted]) => {
    const present = sha256(name === "page" ? pageText() : partText(name));
    return { name, wanted, present, same: wanted === present };
  });
  return { parts, digest: sha256(partText("manifest")) };
}

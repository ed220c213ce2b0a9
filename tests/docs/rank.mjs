// Rank pages as the site's own search does: Material's search worker, run by node on the index of a built site.
import fs from "node:fs";
import path from "node:path";
import vm from "node:vm";

const [site, ...queries] = process.argv.slice(2);
const workers = path.join(site, "assets/javascripts/workers");
const worker = fs.readdirSync(workers).find((name) => /^search\..*\.js$/.test(name));
const index = JSON.parse(fs.readFileSync(path.join(site, "search/search_index.json"), "utf8"));

const listeners = [];
let answer;
const scope = {
  console, setTimeout, URL, TextDecoder,
  addEventListener: (_, listener) => listeners.push(listener),
  postMessage: (message) => answer(message),
  location: { href: "file:///search.js" },
  importScripts: () => {},
};
scope.self = scope.globalThis = scope;
vm.runInNewContext(fs.readFileSync(path.join(workers, worker), "utf8"), scope);

function send(message) {
  return new Promise((resolve) => {
    answer = resolve;
    for (const listener of listeners) listener({ data: message });
  });
}

await send({ type: 0, data: { ...index, options: { suggest: false } } });
const found = {};
for (const query of queries) {
  const { data } = await send({ type: 2, data: query });
  found[query] = data.items.slice(0, 5).map((item) => item[0].location);
}
console.log(JSON.stringify(found));

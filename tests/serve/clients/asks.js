// asks.js PORT: node's memcached with its defaults; see asks.py.
const Memcached = require("memcached");
const m = new Memcached("127.0.0.1:" + process.argv[2]);
const lines = require("readline").createInterface({ input: process.stdin });

lines.on("line", (line) => {
  const [verb, key, ...rest] = line.split(" ");
  if (verb === "lease") {
    // what is leased is no error, and not stored
    m.add(key, "1", 300, (error, stored) => console.log(
      error ? (error.notStored ? "seen" : "error") :
        stored ? "new" : "leased"));
  } else if (verb === "add") {
    m.add(key, "1", 0, (error) => console.log(
      !error ? "new" : error.notStored ? "seen" : "error"));
  } else if (verb === "both") {
    m.getMulti([key, ...rest], (error, found) => console.log(
      error ? "error" : Object.keys(found).length));
  } else {
    m.get(key, (error, value) => console.log(
      error ? "error" : value === undefined ? "missing" : "found"));
  }
});
lines.on("close", () => process.exit());

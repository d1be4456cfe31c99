/** A gateway whose process has the same name as the agent's. It answers with the number of SIGHUPs that it got. */
import { createServer } from 'node:http';

let signals = 0;
process.on('SIGHUP', () => {
  signals += 1;
});

createServer((_, response) => response.end(String(signals))).listen(Number(process.argv[2]), '127.0.0.1');

/** More than the longest line. A hole in a file has none, costs nothing, and may be larger than all memory. */
const MAX_LINE = 1024 ** 2;
const NEWLINE = 10;

/** Splits what is read into lines, each with its newline. A line that is cut off or too long ends it. */
export async function* readLines(pieces: Iterable<Buffer> | AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const piece of pieces) {
    const bytes = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    let from = 0;
    for (let end = bytes.indexOf(NEWLINE) + 1; end > 0; end = bytes.indexOf(NEWLINE, from) + 1) {
      yield bytes.subarray(from, end);
      from = end;
    }
    rest = bytes.subarray(from);
    if (rest.length > MAX_LINE) return;
  }
}

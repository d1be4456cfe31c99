import {
  BACKSLASH,
  CLOSE_LIST,
  CLOSE_OBJECT,
  OPEN_LIST,
  OPEN_OBJECT,
  QUOTE,
} from '../../domain/limits/is-bounded-json.ts';

/** End of the text before the list of objects, in any order of fields. */
const BEFORE_ITEMS = /"items"\s*:\s*$/;

/**
 * Splits the JSON of a list into its objects as it arrives, so that only one of them is in memory: a page of the
 * largest resources in etcd has 25 MB. Linear in the length of the JSON.
 */
export class ListSplitter {
  /** The list without its objects. */
  readonly #rest: Buffer[] = [];
  /** Received part of the current object. */
  #object: Buffer[] = [];
  #depth = 0;
  #place: 'around' | 'between' | 'object' = 'around';
  #inString = false;
  #isEscaped = false;

  /** Adds bytes, and yields the JSON of each completed object. */
  *push(chunk: Buffer): Generator<string> {
    let start = 0;
    for (let index = 0; index < chunk.length; index += 1) {
      const byte = chunk[index];
      if (this.#inString) this.#passString(byte);
      else if (byte === QUOTE) this.#inString = true;
      else if (byte === OPEN_OBJECT || byte === OPEN_LIST) {
        if (this.#place === 'between') {
          this.#place = 'object';
          start = index;
        } else if (byte === OPEN_LIST && this.#depth === 1 && this.#opensItems(chunk.subarray(start, index))) {
          this.#rest.push(chunk.subarray(start, index + 1));
          this.#place = 'between';
        }
        this.#depth += 1;
      } else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) {
        this.#depth -= 1;
        if (this.#place === 'object' && this.#depth === 2) {
          yield this.#endObject(chunk.subarray(start, index + 1));
        } else if (this.#place === 'between') {
          this.#place = 'around';
          start = index;
        }
      }
    }
    if (this.#place === 'object') this.#object.push(chunk.subarray(start));
    else if (this.#place === 'around') this.#rest.push(chunk.subarray(start));
  }

  /** Returns the JSON of the list without its objects. */
  end(): string {
    return Buffer.concat(this.#rest).toString('utf8');
  }

  #passString(byte: number | undefined): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === BACKSLASH) this.#isEscaped = true;
    else if (byte === QUOTE) this.#inString = false;
  }

  /** Only few bytes precede the objects: the kind, the version, and at most the metadata. */
  #opensItems(last: Buffer): boolean {
    return BEFORE_ITEMS.test(
      Buffer.concat([...this.#rest, last])
        .subarray(-64)
        .toString('latin1'),
    );
  }

  #endObject(last: Buffer): string {
    const text = this.#object.length === 0 ? last : Buffer.concat([...this.#object, last]);
    this.#object = [];
    this.#place = 'between';
    return text.toString('utf8');
  }
}

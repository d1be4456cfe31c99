import { Lexer } from 'yaml';

/** The library's states of reading that the check changes. Its types hide them. */
interface LexerStates {
  buffer: string;
  /** Position in the buffer. */
  pos: number;
  /** Number of open brackets. */
  flowLevel: number;
  /** Whether a colon can follow without a space after it, in brackets. */
  flowKey: boolean;
  /** Minimum indentation of the next line. */
  indentNext: number;
  lex(source: string): Generator<string, void>;
  parseQuotedScalar(): Generator<string, string | null>;
  parseFlowCollection(): Generator<string, string | null>;
  pushUntil(test: (char: string) => boolean): Generator<string, number>;
  pushToIndex(end: number, allowEmpty: boolean): Generator<string, number>;
}

const States = Lexer as unknown as new () => LexerStates;

/** An alias or anchor before a colon, which is a part of its name in YAML 1.2. In brackets, no space must follow. */
const KEY = /[*&][\w-]+(?=:(?:\s|$))/y;
const KEY_IN_BRACKETS = /[*&][\w-]+(?=:)/y;

/**
 * Reads an alias or anchor before a colon as libyaml, PyYAML, and go-yaml do: `*a: b`. Ignores the indentation within
 * quotes and brackets, unlike YAML 1.2, because they don't check it.
 */
export class YamlLexer extends States {
  override parseQuotedScalar(): Generator<string, string | null> {
    return this.#anywhere(super.parseQuotedScalar());
  }

  override parseFlowCollection(): Generator<string, string | null> {
    return this.#anywhere(super.parseFlowCollection());
  }

  override *pushUntil(test: (char: string) => boolean): Generator<string, number> {
    const key = this.flowLevel > 0 ? KEY_IN_BRACKETS : KEY;
    key.lastIndex = this.pos;
    if (!key.test(this.buffer)) return yield* super.pushUntil(test);
    this.flowKey = true;
    return yield* this.pushToIndex(key.lastIndex, false);
  }

  *#anywhere(tokens: Generator<string, string | null>): Generator<string, string | null> {
    const { indentNext } = this;
    this.indentNext = 0;
    const state = yield* tokens;
    this.indentNext = indentNext;
    return state;
  }
}

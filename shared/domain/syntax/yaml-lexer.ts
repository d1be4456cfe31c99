import { Lexer } from 'yaml';

/** The library's states of reading that check the indentation. Its types hide them. */
interface LexerStates {
  /** Minimum indentation of the next line. */
  indentNext: number;
  lex(source: string): Generator<string, void>;
  parseQuotedScalar(): Generator<string, string | null>;
  parseFlowCollection(): Generator<string, string | null>;
}

const States = Lexer as unknown as new () => LexerStates;

/**
 * Ignores the indentation within quotes and brackets, unlike YAML 1.2, because no common program checks it: libyaml,
 * PyYAML, and go-yaml don't.
 */
export class YamlLexer extends States {
  override parseQuotedScalar(): Generator<string, string | null> {
    return this.#anywhere(super.parseQuotedScalar());
  }

  override parseFlowCollection(): Generator<string, string | null> {
    return this.#anywhere(super.parseFlowCollection());
  }

  *#anywhere(tokens: Generator<string, string | null>): Generator<string, string | null> {
    const { indentNext } = this;
    this.indentNext = 0;
    const state = yield* tokens;
    this.indentNext = indentNext;
    return state;
  }
}

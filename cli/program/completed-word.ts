import { type Arg, type ArgsDef, accessArgs, outputArgs } from '../commands/command.ts';
import { COMMANDS } from '../commands/commands.ts';

/** A word that the shell can offer. */
export interface Candidate {
  value: string;
  description?: string | undefined;
}

/** Options and arguments of a command line, by their names. */
export type Given = Readonly<Record<string, string>>;

/** The typed word: one of a list, a file, or a value that is read from the cluster. */
export type CompletedWord =
  | { kind: 'listed'; candidates: readonly Candidate[] }
  | { kind: 'file' }
  | { kind: 'value'; key: string; given: Given };

/** Classifies the last word of a command line, such as the value of `--namespace`. */
export function completedWord(words: readonly string[]): CompletedWord {
  const typed = words.at(-1) ?? '';
  const { name, args, given, places, open } = readWords(words.slice(0, -1));
  const [, option] = /^(--?[^=]+)=/.exec(typed) ?? [];
  const key = open ?? (option && keyOf(args, option));
  if (key !== undefined) return wordFor(key, args[key], given);
  if (option !== undefined) return { kind: 'listed', candidates: [] };
  if (typed.startsWith('-')) return { kind: 'listed', candidates: optionsOf(args, given) };
  if (name === undefined || (name === 'help' && places === 0)) return { kind: 'listed', candidates: commands() };
  const [place, arg] = Object.entries(args).filter(([, { type }]) => type === 'positional')[places] ?? [];
  return place === undefined ? { kind: 'listed', candidates: [] } : wordFor(place, arg, given);
}

interface Line {
  name: string | undefined;
  args: ArgsDef;
  given: Record<string, string>;
  /** Number of words that are neither the command nor an option. */
  places: number;
  /** The option whose value comes next. */
  open: string | undefined;
}

function readWords(words: readonly string[]): Line {
  const line: Line = { name: undefined, args: { ...outputArgs, ...accessArgs }, given: {}, places: 0, open: undefined };
  for (const word of words) {
    if (line.open !== undefined) {
      line.given[line.open] = word;
      line.open = undefined;
    } else if (word.startsWith('-')) readOption(line, word);
    else if (line.name === undefined) {
      line.name = word;
      line.args = COMMANDS.find(({ name }) => name === word)?.args ?? {};
    } else readPlace(line, word);
  }
  return line;
}

function readOption(line: Line, word: string): void {
  const [option = '', ...value] = word.split('=');
  const key = keyOf(line.args, option);
  if (key === undefined) return;
  if (value.length === 0 && line.args[key]?.type === 'string') line.open = key;
  else line.given[key] = value.join('=');
}

function readPlace(line: Line, word: string): void {
  const positional = Object.keys(line.args).filter((key) => line.args[key]?.type === 'positional');
  const key = positional[line.places];
  if (key !== undefined) line.given[key] = word;
  line.places += 1;
}

/** Finds the argument that an option such as `--namespace`, `-n` or `--no-open` sets. */
function keyOf(args: ArgsDef, option: string): string | undefined {
  const name = option.replace(/^--?(no-)?/, '');
  return Object.keys(args).find((key) => key === name || args[key]?.alias === name);
}

const commands = (): Candidate[] => COMMANDS.map(({ name, summary }) => ({ value: name, description: summary }));

function optionsOf(args: ArgsDef, given: Given): Candidate[] {
  const open = Object.entries(args).filter(([key, { type }]) => type !== 'positional' && !(key in given));
  const options = open.map(([key, { default: preset, description }]) => ({
    value: `--${preset === true ? 'no-' : ''}${key}`,
    description,
  }));
  return [...options, { value: '--help', description: 'Show the help' }];
}

function wordFor(key: string, arg: Arg | undefined, given: Given): CompletedWord {
  const hint = arg?.valueHint ?? '';
  if (hint === 'FILE' || hint === 'DIR' || key === 'directory') return { kind: 'file' };
  if (hint.includes('|')) return { kind: 'listed', candidates: hint.split('|').map((value) => ({ value })) };
  return { kind: 'value', key, given };
}

import type { Arg, ArgsDef } from '../command-support/command.ts';
import { COMMANDS } from '../commands/commands.ts';
import { commonArgs, splitCommand, tokensOf } from './parse-words.ts';

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
  const { name, rest } = splitCommand(words);
  const args = name === undefined ? commonArgs : (COMMANDS.find((command) => command.name === name)?.args ?? {});
  const line: Line = { name, args, given: {}, places: 0, open: undefined };
  const positional = Object.keys(args).filter((key) => args[key]?.type === 'positional');
  for (const token of tokensOf(args, rest)) {
    const key = token.kind === 'option' ? keyOf(args, token.rawName) : positional[line.places];
    if (token.kind === 'positional') line.places += 1;
    if (key === undefined || token.kind === 'option-terminator') continue;
    if (token.value === undefined && args[key]?.type === 'string') line.open = key;
    else line.given[key] = token.value?.replace(/^=/, '') ?? '';
  }
  return line;
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

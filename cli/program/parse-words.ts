import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { EXIT, Problem } from '../client/problem.ts';
import type { Arg, ArgsDef, ParsedArgs } from '../commands/command.ts';

type Value = string | boolean | string[];
type OptionToken = Extract<NonNullable<ReturnType<typeof parseArgs>['tokens']>[number], { kind: 'option' }>;

/** Parses the words of a command line after the command. Throws `Problem`. */
export function parseWords(args: ArgsDef, words: readonly string[]): ParsedArgs {
  const places = Object.keys(args).filter((key) => args[key]?.type === 'positional');
  const parsed: Record<string, Value> = {};
  const { tokens } = parseArgs({ args: [...words], options: optionsOf(args), strict: false, tokens: true });
  for (const token of tokens) {
    if (token.kind === 'positional') parsed[nextOf(places, token.value)] = token.value;
    if (token.kind === 'option') readOption(args, token, parsed);
  }
  for (const [key, arg] of Object.entries(args)) {
    if (!(key in parsed) && arg.default !== undefined) parsed[key] = arg.default;
    if (!(key in parsed) && arg.required)
      throw new Problem(`${arg.type === 'positional' ? key.toUpperCase() : key} is missing`, EXIT.usage);
  }
  // Each value has the type of its option.
  return parsed as ParsedArgs;
}

function optionsOf(args: ArgsDef): ParseArgsOptionsConfig {
  const options = Object.entries(args).flatMap(([key, { type, alias }]) =>
    type === 'positional' ? [] : [[key, { type, ...(alias && { short: alias }) }] as const],
  );
  return Object.fromEntries(options);
}

function nextOf(places: string[], word: string): string {
  const place = places.shift();
  if (place === undefined) throw new Problem(`unexpected argument ${word}`, EXIT.usage);
  return place;
}

function readOption(args: ArgsDef, { name, rawName, value }: OptionToken, parsed: Record<string, Value>): void {
  const key = name in args ? name : name.replace(/^no-/, '');
  const arg: Arg | undefined = args[key];
  if (!arg || arg.type === 'positional' || (key !== name && arg.type !== 'boolean'))
    throw new Problem(`unknown option ${rawName}`, EXIT.usage);
  if (arg.type === 'boolean') {
    if (value !== undefined && !/^(true|false)$/.test(value))
      throw new Problem(`--${key} must be true or false, not ${rawName}=${value}`, EXIT.usage);
    parsed[key] = (value !== 'false') === (key === name);
    return;
  }
  // kubectl accepts `-n=NAME`, but Node takes `=NAME` as the value.
  const text = rawName.startsWith('--') ? value : value?.replace(/^=/, '');
  if (!text) throw new Problem(`--${key} needs a value`, EXIT.usage);
  parsed[key] = arg.isRepeatable ? [...[parsed[key] ?? []].flat().map(String), text] : text;
}

import type { Arg, Command, Example } from '../command-support/command.ts';
import { COMMANDS } from '../commands/commands.ts';
import { wrap } from '../terminal/text.ts';

/** Width of the help without a terminal. */
const USUAL_WIDTH = 100;

const EXIT_STATUS = [
  ['0', 'success; for status: all listed GatewaySyncs are ready; for diff, drift, and plan: no file differs'],
  ['1', 'failed, not ready, or a check failed; for status: no GatewaySync found'],
  ['2', 'files differ (diff, drift, and plan)'],
  ['3', 'the cluster is unreachable, denies access, or lacks the CRDs of the operator'],
  ['64', 'the command line is invalid, or --yes is missing without a terminal'],
] as const;

export function describeProgram(columns: number = USUAL_WIDTH): string {
  return lines([
    'Show and control what your gateways sync from git, with your own permissions in the cluster.',
    '',
    'Usage:',
    '  kubectl stoker COMMAND [NAME] [OPTIONS]',
    '',
    'Commands:',
    ...drawList(
      COMMANDS.map(({ name, summary }) => [name, summary]),
      columns,
    ),
    '',
    'Exit status:',
    ...drawList(EXIT_STATUS, columns),
    '',
    'Use "kubectl stoker COMMAND --help" for more information about a command.',
  ]);
}

export function describeCommand({ name, details, examples, args }: Command, columns: number = USUAL_WIDTH): string {
  const all = Object.entries(args);
  const positional = all.filter(([, { type }]) => type === 'positional');
  const options = all.filter(([, { type }]) => type !== 'positional');
  const usage = positional.map(([key, { required }]) => (required === false ? ` [${upper(key)}]` : ` ${upper(key)}`));
  return lines([
    ...details.flatMap((text, index) => [...(index > 0 ? [''] : []), ...wrap(text, columns)]),
    '',
    'Usage:',
    `  kubectl stoker ${name}${usage.join('')}${options.length > 0 ? ' [OPTIONS]' : ''}`,
    '',
    ...drawSection(
      'Arguments:',
      positional.map(([key, arg]) => [upper(key), arg.description]),
      columns,
    ),
    ...drawSection(
      'Options:',
      options.map(([key, arg]) => [optionOf(key, arg), arg.description]),
      columns,
    ),
    'Examples:',
    ...examples.flatMap(drawExample),
  ]);
}

const lines = (parts: readonly string[]): string => `${parts.join('\n')}\n`;
const upper = (key: string): string => key.toUpperCase();

/** A boolean option with the default true is shown as `--no-…`. */
function optionOf(key: string, { alias, valueHint, type, default: preset }: Arg): string {
  const short = alias === undefined ? '    ' : `-${alias}, `;
  const no = preset === true ? 'no-' : '';
  return `${short}--${no}${key}${type === 'boolean' ? '' : ` ${valueHint ?? 'VALUE'}`}`;
}

const drawExample = ({ line, does }: Example): string[] => [`  # ${does}`, `  kubectl stoker ${line}`];

function drawSection(title: string, rows: readonly (readonly [string, string])[], columns: number): string[] {
  return rows.length > 0 ? [title, ...drawList(rows, columns), ''] : [];
}

function drawList(rows: readonly (readonly [string, string])[], columns: number): string[] {
  const width = Math.max(...rows.map(([key]) => key.length));
  return rows.flatMap(([key, text]) =>
    wrap(text, Math.max(columns - width - 5, 20)).map(
      (line, index) => `  ${(index === 0 ? key : '').padEnd(width)}   ${line}`,
    ),
  );
}

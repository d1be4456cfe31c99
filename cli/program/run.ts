import { isNamespaceName, isObjectName } from '../../shared/domain/kubernetes/object-name.ts';
import { messageOf } from '../../shared/domain/text/message-of.ts';
import { isBug } from '../../shared/errors.ts';
import { version } from '../../shared/version.ts';
import { bugWords } from '../client/explain.ts';
import { EXIT, type ExitStatus, Problem } from '../client/problem.ts';
import type { Command } from '../command-support/command.ts';
import { COMMANDS } from '../commands/commands.ts';
import type { Host } from '../terminal/host.ts';
import { plain } from '../terminal/text.ts';
import { COMPLETE, complete } from './complete.ts';
import { describeCommand, describeProgram } from './help.ts';
import { parseWords, splitCommand } from './parse-words.ts';

/** Runs a command line (without `kubectl stoker`), and returns the exit status. Prints errors in one line. */
export async function runProgram(line: readonly string[], host: Host): Promise<ExitStatus> {
  try {
    if (line[0] !== COMPLETE) return await dispatch(line, host);
    await complete(line.slice(1), host);
    return EXIT.ok;
  } catch (error) {
    host.note(`error: ${plain(isBug(error) ? bugWords(error) : messageOf(error))}\n`);
    return error instanceof Problem ? error.status : EXIT.failed;
  }
}

async function dispatch(line: readonly string[], host: Host): Promise<ExitStatus> {
  const { name, rest } = splitCommand(line);
  const options = rest.slice(0, rest.includes('--') ? rest.indexOf('--') : undefined);
  const wantsHelp = options.includes('--help') || options.includes('-h');
  if (name === undefined && options.includes('--version')) return show(`${version}\n`, host);
  const [extra] = name === 'version' ? rest : rest.slice(1);
  if ((name === 'version' || name === 'help') && extra !== undefined && !wantsHelp)
    throw new Problem(`unexpected argument ${extra}: see kubectl stoker --help`, 'InvalidArguments');
  if (name === 'version') return show(`${version}\n`, host);
  if (name === 'help' && rest[0] && !wantsHelp) return show(describeCommand(find(rest[0]), host.columns), host);
  if (name === undefined || name === 'help') {
    if (name === undefined && rest.length > 0 && !wantsHelp)
      throw new Problem('specify a command: list them with kubectl stoker --help', 'InvalidArguments');
    return show(describeProgram(host.columns), host);
  }
  const command = find(name);
  if (wantsHelp) return show(describeCommand(command, host.columns), host);
  return await command.run({ args: readArguments(command, rest), host });
}

function show(text: string, host: Host): ExitStatus {
  host.print(text);
  return EXIT.ok;
}

function find(name: string): Command {
  const command = COMMANDS.find((each) => each.name === name);
  if (!command)
    throw new Problem(`unknown command ${name}: list the commands with kubectl stoker --help`, 'InvalidArguments');
  return command;
}

/** Arguments with object names, which become parts of URL paths. */
const OBJECTS = {
  name: { what: 'GatewaySync', isName: isObjectName },
  namespace: { what: 'namespace', isName: isNamespaceName },
  'operator-namespace': { what: 'namespace', isName: isNamespaceName },
};

/** Throws `Problem`, with a reference to the help. */
function readArguments({ name, args }: Command, words: readonly string[]) {
  try {
    const parsed = parseWords(args, words);
    for (const [key, { what, isName }] of Object.entries(OBJECTS)) {
      const named = parsed[key];
      if (typeof named === 'string' && !isName(named))
        throw new Problem(`${JSON.stringify(named)} is not a valid name of a ${what}`, 'InvalidArguments');
    }
    return parsed;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    throw new Problem(`${error.message}: see kubectl stoker ${name} --help`, 'InvalidArguments', { cause: error });
  }
}

import { setTimeout as sleep } from 'node:timers/promises';
import type { Host } from '../terminal/host.ts';
import { type Candidate, completedWord, type Given } from './completed-word.ts';
import { valuesFor } from './completion-values.ts';

/** Hidden command of `kubectl_complete-stoker`. */
export const COMPLETE = '__complete';

/** Maximum time to read names from the cluster, in milliseconds. */
const TIMEOUT_MS = 2_000;

/** Characters without a meaning in shells: the scripts of some kubectl versions would run `$(…)` in a name. */
const SAFE = /^[\w.:/@=+,-]+$/;
const SAFE_DESCRIPTION = /^[\w.:/@=+, -]+$/;

/** Cobra's ShellCompDirectiveNoFileComp and ShellCompDirectiveDefault, which lets the shell complete files. */
const NO_FILES = ':4';
const FILES = ':0';

/**
 * Prints one candidate for the last word per line, with a description after a tab, and a directive for the shell in the
 * last line, as specified by `kubectl_complete-PLUGIN` (pkg/cmd/plugin/plugin_completion.go in kubectl) and cobra.
 */
export async function complete(words: readonly string[], host: Host): Promise<void> {
  const word = completedWord(words);
  if (word.kind === 'file') return host.print(`${FILES}\n`);
  const candidates = word.kind === 'listed' ? word.candidates : await readSafely(word.key, word.given, host);
  // In `--option=value`, the shell completes the value.
  const start = (words.at(-1) ?? '').replace(/^--?[^=]+=/, '');
  const lines = candidates.filter(({ value }) => value.startsWith(start)).map(draw);
  host.print(`${[...lines, NO_FILES].join('\n')}\n`);
}

const draw = ({ value, description }: Candidate): string => (description ? `${value}\t${description}` : value);

/**
 * Reads names within the timeout, and omits unsafe names and descriptions. Ignores errors, because a shell can't show
 * one.
 */
async function readSafely(key: string, given: Given, host: Host): Promise<Candidate[]> {
  const timeout = sleep(TIMEOUT_MS, [], { ref: false });
  try {
    // A credential plugin must neither ask nor write on the command line that is being typed.
    const silent = { ...host, confirm: undefined, note: () => {} };
    const candidates = await Promise.race([valuesFor(key, given, silent), timeout]);
    const safe = candidates.filter(({ value }) => SAFE.test(value));
    return safe.map(({ value, description = '' }) =>
      SAFE_DESCRIPTION.test(description) ? { value, description } : { value },
    );
  } catch {
    return [];
  }
}

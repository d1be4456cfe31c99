import { TransientError } from '../../shared/errors.ts';

const words: Record<string, (volume: string) => string> = {
  ENOSPC: (volume) => `${volume} is full`,
  EDQUOT: (volume) => `${volume} is full (quota)`,
  EROFS: (volume) => `${volume} is mounted read-only`,
  EACCES: (volume) => `the agent has no permission to write to ${volume}`,
  EPERM: (volume) => `the agent has no permission to write to ${volume}`,
};

/** Adds the name of the volume to a file system error. Returns other errors unchanged. */
export function volumeError(volume: string, error: unknown): unknown {
  const { code = '', path } = error as NodeJS.ErrnoException;
  const say = error instanceof Error ? words[code] : undefined;
  if (!say) return error;
  const message = `${say(volume)} (${code}${path ? `, ${path}` : ''})`;
  return new TransientError(message, { code: `volume.${code}`, reason: 'CloneUnusable', cause: error });
}

/** Runs a function on a volume, and adds the volume's name to its errors. */
export async function onVolume<T>(volume: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw volumeError(volume, error);
  }
}

/** Names of the agent's other volumes, for messages. */
export const CLONE_VOLUME = 'the clone volume (REPO_PATH)';
export const TEMPORARY_VOLUME = 'the volume of temporary files (/tmp)';

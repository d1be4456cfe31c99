import { TransientError } from '../errors.ts';

const words: Record<string, (volume: string) => string> = {
  ENOSPC: (volume) => `${volume} is full`,
  EDQUOT: (volume) => `${volume} is full (quota)`,
  EROFS: (volume) => `${volume} is mounted read-only`,
  EACCES: (volume) => `the agent has no permission to write to ${volume}`,
  EPERM: (volume) => `the agent has no permission to write to ${volume}`,
};

/** Makes an error of the file system say which volume it is about; whatever else was thrown stays as it is. */
export function volumeError(volume: string, error: unknown): unknown {
  const { code = '', path } = error as NodeJS.ErrnoException;
  const say = error instanceof Error ? words[code] : undefined;
  if (!say) return error;
  const message = `${say(volume)} (${code}${path ? `, ${path}` : ''})`;
  return new TransientError(message, { code: `volume.${code}`, reason: 'VolumeUnusable', cause: error });
}

/** Does something on a volume; its errors say which one. */
export async function onVolume<T>(volume: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw volumeError(volume, error);
  }
}

/** Volumes of the agent but the data volume, by the words for them. */
export const CLONE_VOLUME = 'the clone volume (REPO_PATH)';
export const TEMPORARY_VOLUME = 'the volume of temporary files (/tmp)';

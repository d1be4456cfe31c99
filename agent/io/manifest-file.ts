import { open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { TerminalError } from '../../shared/errors.ts';
import type { Logger } from '../../shared/log.ts';
import { emptyManifest, type Manifest, parseManifest } from '../domain/manifest.ts';

/** The manifest beside the data: read once, replaced as a whole, never half-written. */
export class ManifestFile {
  readonly #path: string;
  readonly #log: Logger;
  #current: Manifest | undefined;

  constructor(folder: string, log: Logger) {
    this.#path = join(folder, 'manifest.json');
    this.#log = log;
  }

  /** A damaged manifest owns nothing; one of a newer agent is not touched and throws {@link TerminalError}. */
  async read(): Promise<Manifest> {
    this.#current ??= await this.#load();
    return this.#current;
  }

  /** Another agent may have written it meanwhile: it is read again. */
  forget(): void {
    this.#current = undefined;
  }

  async write(manifest: Manifest): Promise<void> {
    const temporary = `${this.#path}.tmp`;
    await rm(temporary, { force: true });
    const handle = await open(temporary, 'wx', 0o644);
    try {
      await handle.writeFile(JSON.stringify(manifest));
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, this.#path);
    this.#current = manifest;
  }

  async #load(): Promise<Manifest> {
    const text = await readFile(this.#path, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw error;
    });
    if (text === undefined) return emptyManifest;
    const parsed = parseManifest(text);
    if (parsed.kind === 'manifest') return parsed.manifest;
    if (parsed.kind === 'damaged') {
      this.#log.warn({ path: this.#path }, 'manifest is damaged: files of earlier syncs have no owner any more');
      return emptyManifest;
    }
    throw new TerminalError(`the manifest has version ${parsed.version}, of a newer agent: use that or a newer image`, {
      code: 'manifest.newer',
      reason: 'AgentTooOld',
    });
  }
}

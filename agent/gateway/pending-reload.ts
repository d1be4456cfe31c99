import { open, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** A mark beside the manifest: files changed, and the gateway was not told yet. It outlives the agent. */
export class PendingReload {
  readonly #file: string;

  constructor(folder: string) {
    this.#file = join(folder, 'reload-pending');
  }

  async isPending(): Promise<boolean> {
    return await stat(this.#file).then(
      () => true,
      () => false,
    );
  }

  /** To be called before the first file changes. */
  async mark(): Promise<void> {
    if (await this.isPending()) return;
    const handle = await open(this.#file, 'w', 0o644);
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  }

  async clear(): Promise<void> {
    await rm(this.#file, { force: true });
  }
}

import { readdirSync, readFileSync, statSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { AGENT_DIRECTORY } from '../../../shared/api/names.ts';
import { rolloutKey } from '../../../shared/domain/rollout/waves.ts';
import { BAD, blobOf, type FileState } from './files.ts';
import type { ManagedProgram } from './managed-program.ts';

/** A file on a disk. */
interface DiskFile extends FileState {
  /** Changes with every change of the file. */
  stamp: string;
}

/** A gateway: its volume, its current pod, and the agent in it. */
export class Gateway {
  readonly name: string;
  readonly namespace: string;
  readonly resource: string;
  /** The gateway's data volume, which outlives pods. */
  readonly data: string;
  agent: ManagedProgram | undefined;
  /** Writes the git server's token for the agent, as a kubelet does some time after a Secret has changed. */
  updateToken: (() => Promise<void>) | undefined;
  /** Files of the gateway itself, by path, which must not change. */
  readonly foreign = new Map<string, string>();
  /** `destination blob` of changes by others to delivered files. */
  readonly drifted = new Set<string>();
  /** Port for health checks of the gateway itself, if it is verified. */
  port: number | undefined;
  /** Its disk was changed or its pod replaced: files may be missing until everything has settled. */
  isDisturbed = false;
  /** Its disk is small enough to be filled. */
  readonly isSmall: boolean;
  readonly #seen = new Map<string, DiskFile>();

  constructor(given: Pick<Gateway, 'name' | 'namespace' | 'resource' | 'data' | 'isSmall'>) {
    this.name = given.name;
    this.namespace = given.namespace;
    this.resource = given.resource;
    this.data = given.data;
    this.isSmall = given.isSmall;
  }

  /** Key in a rollout; the agent uses the name of the pod. */
  get key(): string {
    return rolloutKey(this.name, this.name);
  }

  async addForeign(name: string, content: string): Promise<void> {
    const file = path.join(this.data, name);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, content);
    this.foreign.set(name, stampOf(file));
  }

  /** Returns whether a file belongs to the gateway, even while it is being written. */
  isForeign(name: string): boolean {
    return this.foreign.has(name) || name === 'filling' || name.endsWith('.by-hand') || name.includes('theirs');
  }

  /** Returns whether its files make it unhealthy. */
  isBad(): boolean {
    return attempt(() => readFileSync(path.join(this.data, 'config/health'), 'utf8')) === BAD;
  }

  /** Returns the stamp of a file; undefined if it is gone. */
  stampOf(name: string): string | undefined {
    return attempt(() => stampOf(path.join(this.data, name)));
  }

  /** Lists all files except the agent's own and those that disappear during the scan. Reads only files that changed. */
  look(): Map<string, DiskFile> {
    const found = new Map<string, DiskFile>();
    this.#walk('', found);
    return found;
  }

  #walk(directory: string, found: Map<string, DiskFile>): void {
    const place = path.join(this.data, directory);
    for (const entry of attempt(() => readdirSync(place, { withFileTypes: true })) ?? []) {
      const name = directory ? `${directory}/${entry.name}` : entry.name;
      if (name === AGENT_DIRECTORY) continue;
      if (entry.isDirectory()) this.#walk(name, found);
      else if (entry.isFile()) {
        const file = attempt(() => this.#read(name));
        if (file) found.set(name, file);
      }
    }
  }

  #read(name: string): DiskFile | undefined {
    const file = path.join(this.data, name);
    const stamp = stampOf(file);
    const before = this.#seen.get(name);
    if (before?.stamp === stamp) return before;
    const content = readFileSync(file);
    // Replaced in the meantime: the next sample reads the new file.
    if (stampOf(file) !== stamp) return undefined;
    const isExecutable = (statSync(file).mode & 0o100) !== 0;
    const seen = { stamp, blob: blobOf(content), isExecutable };
    this.#seen.set(name, seen);
    return seen;
  }
}

/** Returns what a function reads from the disk; undefined if it was deleted in the meantime. */
function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

function stampOf(file: string): string {
  const { ino, size, mode, mtimeNs, ctimeNs, uid } = statSync(file, { bigint: true });
  return [ino, size, mode, mtimeNs, ctimeNs, uid].join();
}

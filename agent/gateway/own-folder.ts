import { lstatSync, renameSync, type Stats } from 'node:fs';

/** The agent's own folder in the data volume, held open: nothing that takes the place of its name gets in between. */
export interface OwnFolder {
  at(name: string): string;
  unlink(name: string): boolean;
  close(): void;
}

/** Opens the folder for as long as the work takes. */
export function inFolder<T>(open: () => OwnFolder, work: (folder: OwnFolder) => T): T {
  const folder = open();
  try {
    return work(folder);
  } finally {
    folder.close();
  }
}

export const statOf = (folder: OwnFolder, name: string): Stats | undefined =>
  lstatSync(folder.at(name), { throwIfNoEntry: false });

/** Removes a file or a link, if there is one. A folder in its place is put aside. */
export function removeOwn(folder: OwnFolder, name: string): void {
  if (statOf(folder, name)?.isDirectory()) renameSync(folder.at(name), folder.at(`${name}.${Date.now()}`));
  else folder.unlink(name);
}

import fs from 'node:fs';
import path from 'node:path';
import { codedError } from '../../../support/coded-error.ts';

type Native = (...args: unknown[]) => unknown;

/**
 * Node's own table of file system functions. Every form of a call goes through it: synchronous, with a callback, as a
 * promise, of a FileHandle, and also one that a module kept a reference to before the test began.
 */
const binding = (process as NodeJS.Process & { binding(name: string): Record<string, Native> }).binding('fs');

/** Functions that change a volume, or flush it, with the positions of their paths and descriptors. */
const CHANGES: Record<string, number[]> = {
  open: [0],
  openFileHandle: [0],
  writeBuffer: [0],
  writeBuffers: [0],
  writeString: [0],
  writeFileUtf8: [0],
  ftruncate: [0],
  fsync: [0],
  fdatasync: [0],
  rename: [0, 1],
  link: [0, 1],
  symlink: [1],
  unlink: [0],
  mkdir: [0],
  mkdtemp: [0],
  rmdir: [0],
  rmSync: [0],
  chmod: [0],
  fchmod: [0],
  chown: [0],
  fchown: [0],
  lchown: [0],
  utimes: [0],
  futimes: [0],
  lutimes: [0],
  copyFile: [1],
  cpSyncOverrideFile: [1],
  cpSyncCopyDir: [1],
};
const { O_WRONLY, O_RDWR, O_CREAT, O_TRUNC } = fs.constants;
const WRITING = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC;

/** A call that is about to change the volume. */
export interface VolumeCall {
  /** Name of the native function, such as `rename`. */
  name: string;
  /** Real paths of its arguments. */
  paths: string[];
  isWrite: boolean;
  /** Does the first half of a write. */
  tear(): void;
}

interface Watch {
  volume: string;
  onCall(call: VolumeCall): void;
}

let watch: Watch | undefined;
/** Paths of descriptors, for machines without /proc. A number that is used again is overwritten when it is opened. */
const opened = new Map<number, string>();

/**
 * Calls `onCall` right before each change of the volume, until the returned function or this one is called. An error that
 * it throws becomes the error of the call.
 */
export function watchVolume(volume: string, onCall: Watch['onCall']): () => void {
  const mine = { volume: fs.realpathSync(volume), onCall };
  watch = mine;
  return () => {
    if (watch === mine) watch = undefined;
  };
}

for (const name of Object.keys(CHANGES)) {
  const real = binding[name];
  if (!real) continue; // of another version of Node
  binding[name] = (...args) => {
    const error = announce(name, args) ?? (name === 'link' && !hasLinks ? noLinks() : undefined);
    if (error) return failAs(error, args);
    const result = Reflect.apply(real, binding, args);
    return name.startsWith('open') ? noteOpened(args, result) : result;
  };
}

/** Opens, writes, and closes a file in one go, for writeFile with a path. Node's modules keep it, so its method is replaced. */
const job = (binding.WriteFileJob?.prototype ?? {}) as { run?: (this: unknown, file: unknown) => unknown };
const realRun = job.run;
if (realRun) {
  job.run = function (file) {
    return announce('writeFile', [file]) ?? Reflect.apply(realRun, this, [file]);
  };
}

let hasLinks = true;
const noLinks = () => codedError('EPERM');

/** Makes each hard link fail from now on, as on a volume without hard links. */
export function denyLinks(isDenied: boolean): void {
  hasLinks = !isDenied;
}

interface Reading {
  inode: number;
  onRead: () => void;
}

let reading: Reading | undefined;

/** Calls `onRead` once, when something of a file has been read, through whatever name. */
export function onceRead(file: string, onRead: () => void): void {
  reading = { inode: fs.statSync(file).ino, onRead };
}

const realRead = binding.read as Native;
binding.read = (...args) => {
  const { inode, onRead } = reading ?? {};
  const isMeant = inode !== undefined && fs.fstatSync(args[0] as number).ino === inode;
  const noteRead = () => {
    reading = undefined;
    onRead?.();
  };
  if (isMeant) onCompleted(requestIn(args), noteRead);
  const result = Reflect.apply(realRead, binding, args);
  if (!isMeant || result === undefined) return result;
  if (result instanceof Promise) return result.finally(noteRead);
  noteRead();
  return result;
};

/** Position of the inode in a stat, as a float or a bigint. */
const INODE = 7;
let inodeShift = 0;

/** Adds a number to each inode from now on, as a volume that gives other ones after each start. */
export function shiftInodes(by: number): void {
  inodeShift = by;
}

function shifted(stats: unknown): unknown {
  if (stats instanceof Float64Array) stats[INODE] = (stats[INODE] ?? 0) + inodeShift;
  if (stats instanceof BigInt64Array) stats[INODE] = (stats[INODE] ?? 0n) + BigInt(inodeShift);
  return stats;
}

for (const name of ['stat', 'lstat', 'fstat']) {
  const real = binding[name] as Native;
  binding[name] = (...args) => {
    onCompleted(requestIn(args), shifted);
    const result = Reflect.apply(real, binding, args);
    return result instanceof Promise ? result.then(shifted) : shifted(result);
  };
}

/** Returns the error for the call. */
function announce(name: string, args: unknown[]): unknown {
  if (!watch) return undefined;
  if (name.startsWith('open') && (Number(args[1]) & WRITING) === 0) return undefined;
  const { volume, onCall } = watch;
  const paths = (CHANGES[name] ?? [0]).flatMap((index) => placeOf(args[index]) ?? []);
  if (!paths.some((place) => `${place}/`.startsWith(`${volume}/`)) || isVain(name, paths)) return undefined;
  const isWrite = name.startsWith('write');
  const current = watch;
  watch = undefined; // calls of the test itself aren't watched
  try {
    onCall({ name, paths, isWrite, tear: () => tear(name, args) });
    return undefined;
  } catch (error) {
    return error;
  } finally {
    watch = current;
  }
}

/** Checks whether the call will have no effect: the agent creates its directories without checking first. */
function isVain(name: string, [file = '']: string[]): boolean {
  const isThere = fs.lstatSync(file, { throwIfNoEntry: false }) !== undefined;
  return (name === 'mkdir' && isThere) || ((name === 'unlink' || name === 'rmSync') && !isThere);
}

/** Returns the real path of an argument; undefined if a directory on the way is missing. */
function placeOf(arg: unknown): string | undefined {
  if (typeof arg === 'number') return descriptorPath(arg);
  const file = path.resolve(String(arg));
  try {
    if (/^\/proc\/[^/]+\/fd\/\d+$/.test(file)) return fs.realpathSync.native(file);
    return path.join(fs.realpathSync.native(path.dirname(file)), path.basename(file));
  } catch {
    return undefined;
  }
}

function descriptorPath(descriptor: number): string | undefined {
  try {
    return fs.readlinkSync(`/proc/self/fd/${descriptor}`);
  } catch {
    return opened.get(descriptor);
  }
}

/** Closes open files on a volume whose agents have exited. */
export function closeAll(volume: string): void {
  const directory = fs.realpathSync(volume);
  const names = fs.existsSync('/proc/self/fd') ? fs.readdirSync('/proc/self/fd') : [];
  // The list has the descriptor that it was read with, which is closed by now.
  const isOpen = (descriptor: string) => fs.existsSync(`/proc/self/fd/${descriptor}`);
  for (const descriptor of names.filter(isOpen).map(Number)) {
    if (`${descriptorPath(descriptor)}/`.startsWith(`${directory}/`)) fs.closeSync(descriptor);
  }
}

interface Request {
  oncomplete: (error: unknown, ...results: unknown[]) => void;
}

const requestIn = (args: unknown[]): Request | undefined =>
  args.find((arg): arg is Request => typeof (arg as Partial<Request> | undefined)?.oncomplete === 'function');

function failAs(error: unknown, args: unknown[]): unknown {
  if (args.includes(binding.kUsePromises)) return Promise.reject(error);
  const request = requestIn(args);
  if (!request) throw error;
  setImmediate(() => request.oncomplete(error));
  return undefined;
}

/** Does something with the result of a call with a callback, before that is called. */
function onCompleted(request: Request | undefined, act: (result: unknown) => void): void {
  if (!request) return;
  const { oncomplete } = request;
  request.oncomplete = function (error, ...results) {
    if (!error) act(results[0]);
    Reflect.apply(oncomplete, this, [error, ...results]);
  };
}

function noteOpened(args: unknown[], result: unknown): unknown {
  const place = placeOf(args[0]);
  if (!place) return result;
  const note = (descriptor: unknown) => opened.set(descriptor as number, place);
  if (typeof result === 'number') note(result);
  if (result instanceof Promise) result.then((handle) => note(handle.fd)).catch(() => {});
  onCompleted(requestIn(args), note);
  return result;
}

function tear(name: string, args: unknown[]): void {
  const halfOf = (bytes: Uint8Array) => bytes.subarray(0, bytes.length >> 1);
  if (name === 'writeFile') {
    const [file] = args as [string];
    fs.closeSync(fs.openSync(file, 'a')); // its content is not known here
  } else if (name === 'writeFileUtf8') {
    const [file, text, flag, mode] = args as [string, string, string, number];
    fs.writeFileSync(file, halfOf(Buffer.from(text)), { flag, mode });
  } else if (name === 'writeBuffer') {
    const [file, bytes, offset, length, position] = args as [number, Uint8Array, number, number, number | null];
    fs.writeSync(file, bytes, offset, length >> 1, position);
  } else if (name === 'writeBuffers') {
    const [file, buffers, position] = args as [number, Uint8Array[], number | null];
    fs.writeSync(file, halfOf(Buffer.concat(buffers)), 0, undefined, position);
  } else {
    const [file, text, position, encoding] = args as [number, string, number | null, BufferEncoding];
    fs.writeSync(file, halfOf(Buffer.from(text, encoding)), 0, undefined, position);
  }
}

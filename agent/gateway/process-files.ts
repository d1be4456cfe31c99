/** Parts of `/proc/PID/stat`, see proc_pid_stat(5). */
export interface ProcessStat {
  /** Name of the command, at most 15 bytes, which can be any. */
  comm: string;
  /** One letter, such as `S` for sleeping. */
  state: string;
  /** Time of its start, in ticks since the machine booted. A program that the process executes doesn't change it. */
  startTicks: number;
}

/** Parts of `/proc/PID/status`, see proc_pid_status(5). */
export interface ProcessStatus {
  uid: number;
  /** Bits of the signals that it catches or blocks, starting with signal 1. A program that blocks one waits for it. */
  handled: bigint;
}

/** The kernel truncates the name of a command to this number of bytes. */
const MAX_COMM = 15;

/** Positions of fields after the name. */
const STATE = 0;
const START_TICKS = 19;

/** Parses `/proc/PID/stat`, read as Latin-1. The name can contain spaces, parentheses, and line feeds. */
export function parseStat(text: string): ProcessStat | undefined {
  const start = text.indexOf('(');
  const end = text.lastIndexOf(')');
  const fields = text
    .slice(end + 1)
    .trim()
    .split(' ');
  const state = fields[STATE] ?? '';
  const ticks = fields[START_TICKS] ?? '';
  if (start === -1 || end < start || !/^[A-Za-z]$/.test(state) || !/^\d+$/.test(ticks)) return undefined;
  return { comm: text.slice(start + 1, end), state, startTicks: Number(ticks) };
}

/** Parses `/proc/PID/status`. */
export function parseStatus(text: string): ProcessStatus | undefined {
  const [, uid] = /^Uid:\t(\d+)\t/m.exec(text) ?? [];
  const [, blocked] = /^SigBlk:\t([0-9a-f]+)$/m.exec(text) ?? [];
  const [, caught] = /^SigCgt:\t([0-9a-f]+)$/m.exec(text) ?? [];
  if (uid === undefined || blocked === undefined || caught === undefined) return undefined;
  return { uid: Number(uid), handled: BigInt(`0x${blocked}`) | BigInt(`0x${caught}`) };
}

/**
 * Checks whether a process has this name: as its command, or as the base name of its program in `/proc/PID/cmdline`, both
 * read as Latin-1. A truncated command is enough for a longer name, unless the program shows that it continues differently.
 */
export function isNamed(name: string, { comm, cmdline }: { comm: string; cmdline: string }): boolean {
  const [program = ''] = cmdline.split('\0', 1);
  const base = program.slice(program.lastIndexOf('/') + 1);
  if (comm === name || base === name) return true;
  return comm.length === MAX_COMM && name.startsWith(comm) && !base.startsWith(comm);
}

/** Checks whether a process catches or waits for a signal, by its number. */
export const handles = ({ handled }: ProcessStatus, signal: number): boolean =>
  ((handled >> BigInt(signal - 1)) & 1n) === 1n;

import { constants } from 'node:os';
import { codeOf, TerminalError } from '../../shared/errors.ts';
import type { ReloadSignal } from '../resource/judge-resource.ts';
import { type AwayCode, gatewayAway } from './gateway-client.ts';
import { handles, isNamed, type ProcessStat, type ProcessStatus, parseStat, parseStatus } from './process-files.ts';
import type { ProcessFile, ProcessTable } from './process-table.ts';

interface FoundProcess extends ProcessStat {
  pid: string;
  /** Its mount namespace; undefined if the agent isn't allowed to read it. */
  mounts: string | undefined;
}

/** Processes of other containers, and the number of those that the agent isn't allowed to read. */
interface Listing {
  processes: FoundProcess[];
  hidden: number;
}

/** States of processes that have ended: zombie and dead. */
const ENDED = ['Z', 'X', 'x'];

/**
 * Sends a signal to the oldest process of that name in the other containers of the pod, unless it started after the tick
 * `newAfter`: then it only has to exist. Throws {@link WaitingError} if there is none (code `gateway.noProcess`) or it isn't ready for the signal,
 * and {@link TerminalError} if the pod or the user of the process doesn't allow it, or containers share the name.
 */
export function signalProcess(signal: ReloadSignal, table: ProcessTable, newAfter = Number.POSITIVE_INFINITY): void {
  if (!table.isShared) throw notShared();
  const listing = listOthers(table);
  const oldest = findOldest(signal.process, listing, table);
  if (!oldest) throw away(listing.hidden > 0 ? 'gateway.hidden' : 'gateway.noProcess', missing(signal, listing));
  if (oldest.startTicks > newAfter) return;
  const status = parseStatus(tryRead(table, oldest.pid, 'status'));
  const stat = parseStat(tryRead(table, oldest.pid, 'stat'));
  // Node can't hold a process (pidfd_open), so its ID could still be reused between this check and the signal.
  if (!status || stat?.startTicks !== oldest.startTicks) throw ended(oldest);
  checkHandler(signal, oldest, status);
  try {
    table.kill(Number(oldest.pid), signal.name);
  } catch (error) {
    if (codeOf(error) === 'ESRCH') throw ended(oldest);
    if (!isDenied(error)) throw error;
    throw status.uid === table.uid ? deniedByPolicy(oldest) : otherUser({ ...oldest, ...status }, table);
  }
}

/** Returns when the newest of all processes started, in ticks. A program that it executes later has the same start. */
export function newestStart(table: ProcessTable): number {
  const starts = table.list().map((pid) => parseStat(tryRead(table, pid, 'stat'))?.startTicks ?? 0);
  return Math.max(0, ...starts);
}

/** Lists the processes that run in another mount namespace than the agent: its own would be the oldest `node`. */
function listOthers(table: ProcessTable): Listing {
  const own = mountNamespaceOf(table, 'self');
  const processes: FoundProcess[] = [];
  let hidden = 0;
  for (const pid of table.list()) {
    try {
      const stat = parseStat(table.read(pid, 'stat'));
      const mounts = mountNamespaceOf(table, pid);
      if (!stat || ENDED.includes(stat.state) || mounts === own) continue;
      processes.push({ pid, mounts, ...stat });
    } catch (error) {
      if (isDenied(error)) hidden += 1; // otherwise, it has ended
    }
  }
  return { processes, hidden };
}

/**
 * Returns the mount namespace of a process. It is undefined if the agent isn't allowed to read it. This can't be one of
 * its own processes, but one with another user or more capabilities.
 */
function mountNamespaceOf(table: ProcessTable, pid: string): string | undefined {
  try {
    return table.mountNamespace(pid);
  } catch (error) {
    if (isDenied(error)) return undefined;
    throw error;
  }
}

/**
 * Returns the oldest process of that name, and the one with the lower ID if two started in the same tick. Throws
 * {@link TerminalError} if another container has one, because an older sidecar would be signalled instead.
 */
function findOldest(name: string, { processes }: Listing, table: ProcessTable): FoundProcess | undefined {
  const isMeant = ({ pid, comm }: FoundProcess) => isNamed(name, { comm, cmdline: tryRead(table, pid, 'cmdline') });
  const found = processes.filter(isMeant).sort((a, b) => a.startTicks - b.startTicks || Number(a.pid) - Number(b.pid));
  const placed = found.find(({ mounts }) => mounts !== undefined);
  for (const first of [found[0], placed]) {
    const other = first && found.find((each) => isElsewhere(each, first, table));
    if (first && other) throw ambiguous(name, first, other);
  }
  return found[0];
}

/** Whether two processes are in different containers. Each container has its own cgroup, which all users can read. */
function isElsewhere(one: FoundProcess, other: FoundProcess, table: ProcessTable): boolean {
  if (one.mounts !== undefined && other.mounts !== undefined) return one.mounts !== other.mounts;
  const cgroups = [one, other].map(({ pid }) => tryRead(table, pid, 'cgroup'));
  return !cgroups.includes('') && cgroups[0] !== cgroups[1];
}

/** A process that doesn't handle the signal would end, and most programs handle it only when they have started. */
function checkHandler({ name }: ReloadSignal, found: FoundProcess, status: ProcessStatus): void {
  if (name === 'SIGTERM' || handles(status, constants.signals[name])) return;
  const message = `the process ${shown(found)} does not handle ${name} yet; if it never does, specify another signal in spec.gateway.reload.signal`;
  throw away('gateway.starting', message);
}

/** Returns an empty text if the process has ended, or the agent isn't allowed to read the file. */
function tryRead(table: ProcessTable, pid: string, file: ProcessFile): string {
  try {
    return table.read(pid, file);
  } catch {
    return '';
  }
}

const isDenied = (error: unknown): boolean => ['EACCES', 'EPERM'].includes(codeOf(error));

const away = (code: AwayCode, message: string) => gatewayAway(message, { code, cause: undefined });

/** The gateway chooses the names, which appear in reports. */
const shown = ({ comm, pid }: FoundProcess): string => `${printable(comm)} (${pid})`;
const printable = (text: string): string => text.replace(/[^ -~]/g, '?');

/** Maximum names in a message. */
const MAX_NAMES = 5;

function missing({ process: name }: ReloadSignal, { processes, hidden }: Listing): string {
  const names = [...new Set(processes.map(({ comm }) => printable(comm)))].sort();
  const found = names.length > 0 ? `, only ${names.slice(0, MAX_NAMES).join(', ')}` : '';
  const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : '';
  const unread = hidden > 0 ? `; processes that can't be read: ${hidden}` : '';
  return `no process named ${name} runs in the other containers of the pod${found}${more}${unread}`;
}

const ended = (found: FoundProcess) =>
  away('gateway.ended', `the process ${shown(found)} ended before it could be signalled`);

const notShared = () =>
  new TerminalError(
    "spec.gateway.reload.signal requires shareProcessNamespace: true in the pod, because the agent can't see the processes of other containers without it: add it to the pod template, unless a program must be process 1",
    { code: 'gateway.notShared', reason: 'ReloadRequestInvalid' },
  );

const ambiguous = (name: string, first: FoundProcess, other: FoundProcess) =>
  new TerminalError(
    `more than one container runs a process named ${name}: ${shown(first)} and ${shown(other)} have different mount namespaces or cgroups; set spec.gateway.reload.signal.process to a name that only the gateway has, for example by starting it with exec -a NAME`,
    { code: 'gateway.ambiguous', reason: 'ReloadRequestInvalid' },
  );

const otherUser = (found: FoundProcess & ProcessStatus, { uid }: ProcessTable) =>
  new TerminalError(
    `the process ${shown(found)} runs as user ${found.uid} and the agent as user ${uid}, which isn't allowed to signal it: set securityContext.runAsUser of the gateway's container to ${found.uid}${found.uid === 0 ? ', which requires the chart value agent.allowRoot, or use an image that does not run as root' : ''}`,
    { code: 'gateway.otherUser', reason: 'ReloadRequestInvalid' },
  );

const deniedByPolicy = (found: FoundProcess) =>
  new TerminalError(
    `the node does not allow the agent to signal the process ${shown(found)} of the same user: check its AppArmor, SELinux, and seccomp profiles`,
    { code: 'gateway.denied', reason: 'ReloadRequestInvalid' },
  );

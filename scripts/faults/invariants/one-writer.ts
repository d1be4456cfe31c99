import { readFile } from 'node:fs/promises';

/** The fields of an entry in the API server's audit log that are needed here. */
interface AuditEvent {
  user: { extra?: Record<string, string[]> };
  objectRef?: { resource: string; name?: string };
  requestReceivedTimestamp: string;
  stageTimestamp: string;
  responseStatus?: { code: number };
  requestObject?: { spec?: { holderIdentity?: string; renewTime?: string; leaseDurationSeconds?: number } };
}

/** A controller's write of a status. Times are from the API server, and sort as text. */
interface StatusWrite {
  kind: 'status';
  pod: string;
  name: string;
  from: string;
  to: string;
}

/** Its write of the Lease, which was released if there is no holder, and expires at `validTo` plus the clock skew. */
interface LeaseWrite {
  kind: 'lease';
  holder: string | undefined;
  validTo: string;
  from: string;
  to: string;
}

type Write = StatusWrite | LeaseWrite;

/** Maximum difference between the clocks of a controller and the audit log, network latency included (ms). */
const SKEW_MS = 2_000;

/** Checks in the audit log that only the holder of the Lease writes statuses. */
export async function oneWriter(auditLog: string): Promise<string[]> {
  const text = await readFile(auditLog, 'utf8').catch(() => '');
  const writes = text.split('\n').flatMap(writeOf);
  const isSeen = (kind: Write['kind']) => writes.some((write) => write.kind === kind);
  if (!isSeen('lease') || !isSeen('status')) return ['the audit log shows no writes of the controllers'];
  return strangeWrites(writes);
}

/** Returns the status writes that began while their controller didn't hold the Lease. */
export function strangeWrites(writes: Write[]): string[] {
  const leases = writes.filter((write) => write.kind === 'lease').sort((a, b) => (a.to < b.to ? -1 : 1));
  const statuses = writes.filter((write) => write.kind === 'status').sort((a, b) => (a.from < b.from ? -1 : 1));
  const wrong: string[] = [];
  let index = 0;
  for (const { pod, name, from } of statuses) {
    while ((leases[index]?.to ?? '~') < from) index += 1;
    const reason = whyNot(pod, from, leases[index - 1]);
    // The audit log may contain the response to a write of the Lease before its end.
    const isTaking = () => leases.slice(index).some((lease) => lease.from < from && lease.holder === pod);
    if (reason && !isTaking()) wrong.push(`${pod} wrote the status of ${name} at ${from}, ${reason}`);
  }
  return wrong;
}

/** Returns why a controller isn't allowed to write at this time, after the last write of the Lease. */
function whyNot(pod: string, at: string, last: LeaseWrite | undefined): string | undefined {
  if (!last) return 'before there was a leader';
  if (!last.holder) return `after the Lease was released at ${last.to}`;
  if (last.holder !== pod) return `while ${last.holder} led`;
  return at > last.validTo ? `though its Lease had expired at ${last.validTo}` : undefined;
}

/** Reads the writes by a controller from a line of the audit log. */
export function writeOf(line: string): Write[] {
  const event = parse(line);
  const pod = event?.user.extra?.['authentication.kubernetes.io/pod-name']?.[0];
  if (!event || !pod || (event.responseStatus?.code ?? 500) >= 300) return [];
  const { objectRef, requestReceivedTimestamp: from, stageTimestamp: to, requestObject } = event;
  if (objectRef?.resource !== 'leases') return [{ kind: 'status', pod, name: objectRef?.name ?? '', from, to }];
  const { holderIdentity = '', renewTime = to, leaseDurationSeconds = 0 } = requestObject?.spec ?? {};
  const validTo = new Date(Date.parse(renewTime) + leaseDurationSeconds * 1000 + SKEW_MS).toISOString();
  return [{ kind: 'lease', holder: holderIdentity.split('_')[0] || undefined, validTo, from, to }];
}

/** The last line may be half written. */
function parse(line: string): AuditEvent | undefined {
  try {
    return JSON.parse(line) as AuditEvent;
  } catch {
    return undefined;
  }
}

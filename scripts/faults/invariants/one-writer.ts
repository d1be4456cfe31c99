import { readFile } from 'node:fs/promises';

/** An entry of the API server's audit log, as far as it matters here. */
interface AuditEvent {
  user: { extra?: Record<string, string[]> };
  objectRef?: { resource: string; name?: string };
  requestReceivedTimestamp: string;
  stageTimestamp: string;
  responseStatus?: { code: number };
  requestObject?: { spec?: { holderIdentity?: string; renewTime?: string; leaseDurationSeconds?: number } };
}

/** A status or a Lease that a controller wrote, with the times of the API server, which sort as text. */
type Write = StatusWrite | LeaseWrite;

interface StatusWrite {
  kind: 'status';
  pod: string;
  name: string;
  from: string;
  to: string;
}

interface LeaseWrite {
  kind: 'lease';
  /** Nobody, where it is handed back. */
  holder: string | undefined;
  /** When it ends unless it is renewed, with what a clock may be off. */
  validTo: string;
  from: string;
  to: string;
}

/** By how much the clocks of a controller and of the audit log may differ, with the way between them, in milliseconds. */
const SKEW_MS = 2_000;

/** Only who holds the Lease writes statuses: reads what was written from the audit log. */
export async function oneWriter(auditLog: string): Promise<string[]> {
  const text = await readFile(auditLog, 'utf8').catch(() => '');
  const writes = text.split('\n').flatMap(writeOf);
  const isSeen = (kind: Write['kind']) => writes.some((write) => write.kind === kind);
  if (!isSeen('lease') || !isSeen('status')) return ['the audit log shows no writes of the controllers'];
  return strangeWrites(writes);
}

/** The status writes that began when their controller did not hold the Lease: another one did, or nobody. */
export function strangeWrites(writes: Write[]): string[] {
  const leases = writes.filter((write) => write.kind === 'lease').sort((a, b) => (a.to < b.to ? -1 : 1));
  const statuses = writes.filter((write) => write.kind === 'status').sort((a, b) => (a.from < b.from ? -1 : 1));
  const wrong: string[] = [];
  let index = 0;
  for (const { pod, name, from } of statuses) {
    while ((leases[index]?.to ?? '~') < from) index += 1;
    const reason = whyNot(pod, from, leases[index - 1]);
    // The answer to a write of the Lease may come before its end in the audit log.
    const isTaking = () => leases.slice(index).some((lease) => lease.from < from && lease.holder === pod);
    if (reason && !isTaking()) wrong.push(`${pod} wrote the status of ${name} at ${from}, ${reason}`);
  }
  return wrong;
}

/** Why a controller may not write at this time, after the last write of the Lease. */
function whyNot(pod: string, at: string, last: LeaseWrite | undefined): string | undefined {
  if (!last) return 'before anybody led';
  if (!last.holder) return `after the Lease was handed back at ${last.to}`;
  if (last.holder !== pod) return `while ${last.holder} led`;
  return at > last.validTo ? `though its Lease had run out: it was valid to ${last.validTo}` : undefined;
}

/** What a line of the audit log says that a controller wrote, if anything. */
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

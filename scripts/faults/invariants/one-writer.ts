import { readFile } from 'node:fs/promises';

/** An entry of the API server's audit log, as far as it matters here. */
interface AuditEvent {
  user: { extra?: Record<string, string[]> };
  objectRef?: { resource: string; name?: string };
  requestReceivedTimestamp: string;
  stageTimestamp: string;
  responseStatus?: { code: number };
  requestObject?: { spec?: { holderIdentity?: string } };
}

/** What one controller wrote, with the times of the API server, which sort as text. */
interface Write {
  kind: 'lease' | 'status';
  pod: string;
  name: string;
  from: string;
  to: string;
}

/** Only who holds the Lease writes statuses: reads what was written from the audit log. */
export async function oneWriter(auditLog: string): Promise<string[]> {
  const text = await readFile(auditLog, 'utf8').catch(() => '');
  const writes = text.split('\n').flatMap(writeOf);
  const isSeen = (kind: Write['kind']) => writes.some((write) => write.kind === kind);
  if (!isSeen('lease') || !isSeen('status')) return ['the audit log shows no writes of the controllers'];
  return strangeWrites(writes);
}

/** The status writes that began when another controller already had the Lease. */
export function strangeWrites(writes: Write[]): string[] {
  const leases = writes.filter(({ kind }) => kind === 'lease').sort(byEnd);
  const statuses = writes.filter(({ kind }) => kind === 'status').sort((a, b) => (a.from < b.from ? -1 : 1));
  const wrong: string[] = [];
  let [index, holder] = [0, undefined as string | undefined];
  for (const { pod, name, from } of statuses) {
    for (; (leases[index]?.to ?? '~') < from; index += 1) holder = leases[index]?.pod;
    if (holder !== undefined && holder !== pod)
      wrong.push(`${pod} wrote the status of ${name} at ${from}, while ${holder} led`);
  }
  return wrong;
}

const byEnd = (a: Write, b: Write) => (a.to < b.to ? -1 : 1);

/** What a line of the audit log says that a controller wrote, if anything. */
export function writeOf(line: string): Write[] {
  const event = parse(line);
  const pod = event?.user.extra?.['authentication.kubernetes.io/pod-name']?.[0];
  if (!event || !pod || (event.responseStatus?.code ?? 500) >= 300) return [];
  const { objectRef, requestReceivedTimestamp: from, stageTimestamp: to, requestObject } = event;
  const isLease = objectRef?.resource === 'leases';
  const holder = requestObject?.spec?.holderIdentity?.split('_')[0];
  // A Lease that is handed back has no holder.
  if (isLease && !holder) return [];
  return [
    { kind: isLease ? 'lease' : 'status', pod: isLease ? (holder ?? pod) : pod, name: objectRef?.name ?? '', from, to },
  ];
}

/** The last line may be half written. */
function parse(line: string): AuditEvent | undefined {
  try {
    return JSON.parse(line) as AuditEvent;
  } catch {
    return undefined;
  }
}

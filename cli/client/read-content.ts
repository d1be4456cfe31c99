import { type Answer, INSPECTION, type LeftOut } from '../../shared/api/inspection.ts';

/** Content of a gateway's file, or the reason why there is none. */
export type GatewayContent =
  | { kind: 'content'; content: Buffer }
  | { kind: 'leftOut'; why: LeftOut }
  | { kind: 'problem'; message: string };

/** Number of times that reading starts again because the file has changed. */
const RESTARTS = 3;

/** Reads a file in parts, of at most `room` bytes. `ask` queries the agent for the part at an offset. */
export async function readContent(ask: (offset: number) => Promise<Answer>, room: number): Promise<GatewayContent> {
  for (let restarts = 0; restarts <= RESTARTS; restarts += 1) {
    const found = await readOnce(ask, Math.min(room, INSPECTION.readBytes));
    if (found) return found;
  }
  return { kind: 'leftOut', why: 'changing' };
}

/** Returns undefined if the file changes in the meantime. */
async function readOnce(ask: (offset: number) => Promise<Answer>, room: number): Promise<GatewayContent | undefined> {
  const parts: Buffer[] = [];
  let version: string | undefined;
  for (let offset = 0; ; ) {
    const { problem, leftOut, content } = await ask(offset);
    if (problem !== undefined) return { kind: 'problem', message: problem };
    if (!content) return { kind: 'leftOut', why: leftOut ?? 'unreadable' };
    if (content.size > room) return { kind: 'leftOut', why: 'large' };
    version ??= content.version;
    const part = Buffer.from(content.data, 'base64');
    parts.push(part);
    offset += part.length;
    const isMore = offset < content.size && part.length === INSPECTION.chunkBytes;
    if (version !== content.version || (!isMore && offset !== content.size)) return undefined;
    if (!isMore) return { kind: 'content', content: Buffer.concat(parts) };
  }
}

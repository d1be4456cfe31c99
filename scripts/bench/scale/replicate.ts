import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { inParallel } from '../controller/world.ts';
import { findControlPlane } from './usage.ts';
import type { World } from './world.ts';

const LANES = 16;

/** What differs between a copy and what it is a copy of: texts by the texts in their place, UIDs included. */
export type Replacements = Map<string, string>;

/** Objects as the API server stored them, by their keys in etcd, and every UID in them that is one of theirs. */
export interface Stored {
  objects: [key: string, json: string][];
  uids: string[];
}

/** Reads what the API server stored under keys that begin with any of these; it has to store JSON. */
export async function readStored(world: World, prefixes: string[]): Promise<Stored> {
  const etcd = await etcdOf(world);
  const objects: Stored['objects'] = [];
  for (const prefix of prefixes) {
    const end = prefix.slice(0, -1) + String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1);
    const { kvs = [] } = await call<{ kvs?: { key: string; value: string }[] }>(etcd, 'range', {
      key: encode(prefix),
      range_end: encode(end),
    });
    objects.push(...kvs.map(({ key, value }): [string, string] => [decode(key), decode(value)]));
  }
  return { objects, uids: objects.map(([, json]) => JSON.parse(json).metadata.uid as string) };
}

/**
 * Puts copies of objects where the API server stores its own: it would take minutes for tens of thousands. What each
 * copy has in its own words comes from `replacementsOf`, and its UIDs are new.
 */
export async function replicate(
  world: World,
  { objects, uids }: Stored,
  { from, to, replacementsOf }: { from: number; to: number; replacementsOf: (number: number) => Replacements },
): Promise<Replacements[]> {
  const etcd = await etcdOf(world);
  const all: Replacements[] = [];
  for (let number = from; number < to; number += 1) {
    all[number] = new Map([...replacementsOf(number), ...uids.map((uid): [string, string] => [uid, randomUUID()])]);
  }
  await inParallel(to - from, LANES, async (index) => {
    const replacements = all[from + index] as Replacements;
    // One by one: the API server takes objects of the same revision, as of a transaction, for one.
    for (const [key, json] of objects) {
      const copy = { key: encode(replaceAll(key, replacements)), value: encode(replaceAll(json, replacements)) };
      await call(etcd, 'put', copy);
    }
  });
  return all;
}

/** All texts at once, so that none is replaced in what came in the place of another. */
export function replaceAll(input: string, replacements: Replacements): string {
  const pattern = new RegExp([...replacements.keys()].map((key) => key.replaceAll('.', '\\.')).join('|'), 'g');
  return input.replace(pattern, (found) => replacements.get(found) ?? found);
}

async function etcdOf({ cluster }: World): Promise<string> {
  const pid = (await findControlPlane(cluster)).get('etcd');
  const command = await readFile(`/proc/${pid}/cmdline`, 'utf8');
  return /--listen-client-urls=([^\0]*)/.exec(command)?.[1] ?? '';
}

/** By etcd's HTTP gateway; https://etcd.io/docs/v3.6/dev-guide/api_grpc_gateway/. */
function call<T>(etcd: string, what: 'range' | 'put', body: object): Promise<T> {
  return new Promise((resolve, reject) => {
    request(new URL(`/v3/kv/${what}`, etcd), { method: 'POST' }, (response) => {
      text(response).then((answer) => {
        if (response.statusCode === 200) resolve(JSON.parse(answer) as T);
        else reject(new Error(`etcd: ${response.statusCode} ${answer.slice(0, 200)}`));
      }, reject);
    })
      .on('error', reject)
      .end(JSON.stringify(body));
  });
}

const encode = (value: string): string => Buffer.from(value).toString('base64');
const decode = (value: string): string => Buffer.from(value, 'base64').toString();

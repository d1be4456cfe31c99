import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import type { Setup } from './model.ts';
import type { Limits, Node } from './node.ts';
import { comesToRest, firstNode, movesOf } from './possible-moves.ts';
import { checkWaits } from './rules.ts';
import { keyOf } from './state-key.ts';

/** One in this number of paths to known states is followed again, to check that the result is the same. */
const FOLLOWED_AGAIN = 200;

/** Explores all possible moves, the shortest paths first; returns the number of states. */
export function explore(setup: Setup, limits: Limits): number {
  const first = firstNode(setup, limits);
  const known = new Map([[short(keyOf(first)), 0]]);
  const ways: { before: number[]; moves: string[] } = { before: [0], moves: [''] };
  /** The moves of each state, and the controller's result. */
  const following: string[] = [];
  const controlled: number[] = [];
  const resting = new Set<string>();
  const doubles: [number: number, node: Node][] = [];
  let passed = 0;
  let number = 0;
  for (let nodes = [first]; nodes.length > 0; ) {
    const next: Node[] = [];
    for (const node of nodes) {
      try {
        const moves = followersOf(node, setup);
        following.push(short(moves.map(({ key }) => key).join()));
        for (const { name, key, to } of moves) {
          const at = known.get(key) ?? known.size;
          if (name === 'control') {
            controlled.push(at);
            if (at === number) checkWaits(to.world, setup);
          }
          if (at < known.size) {
            if (++passed % FOLLOWED_AGAIN === 0) doubles.push([at, to]);
            continue;
          }
          known.set(key, at);
          ways.before.push(number);
          ways.moves.push(name);
          next.push(to);
        }
        if (controlled[number] === number) comesToRest(node, setup, resting);
      } catch (error) {
        throw new Error(`after ${wayTo(number, ways)}: ${(error as Error).message}`, { cause: error });
      }
      number += 1;
    }
    nodes = next;
  }
  for (const at of controlled) assert.equal(controlled[at], at, `not at its end after ${wayTo(at, ways)}control`);
  for (const [at, node] of doubles) {
    const keys = followersOf(node, setup).map(({ key }) => key);
    assert.equal(short(keys.join()), following[at], `two states have one key: ${wayTo(at, ways)}`);
  }
  return known.size;
}

const short = (text: string): string => hash('sha1', text, 'base64');

const followersOf = (node: Node, setup: Setup) =>
  movesOf(node, setup).map(([name, take]) => {
    const to = take();
    return { name, to, key: short(keyOf(to)) };
  });

function wayTo(number: number, { before, moves }: { before: number[]; moves: string[] }): string {
  const way: string[] = [];
  for (let at = number; at > 0; at = before[at] ?? 0) way.unshift(moves[at] ?? '');
  return way.map((move) => `${move}; `).join('');
}

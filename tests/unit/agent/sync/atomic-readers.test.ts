import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { suite, test } from 'node:test';
import { slow } from '../../../support/depth.ts';
import { localSandbox } from '../support/local-sandbox.ts';
import { mappingOf } from '../support/tree-files.ts';

const COMMITS = 10;
const FILES = 500;
const profile = { mappings: [mappingOf('dags', 'dags', { publish: 'atomic' })] };

const nameOf = (index: number) => `dags/${index % 50}/${index}`;

/** Resolves the link once, reads two files, and compares them, without pause until it is stopped. */
const READER = `
const fs = require('node:fs');
const [link, one, other] = process.argv.slice(1);
let reads = 0;
let mixed = 0;
const seen = new Set();
function read() {
  const tree = fs.realpathSync(link);
  const a = fs.readFileSync(tree + '/' + one, 'utf8');
  const b = fs.readFileSync(tree + '/' + other, 'utf8');
  reads += 1;
  if (a !== b) mixed += 1;
  seen.add(a);
}
process.stdin.on('end', () => {
  console.log(JSON.stringify({ reads, mixed, seen: seen.size }));
  process.exit(0);
}).resume();
const loop = () => { for (let n = 0; n < 100; n += 1) read(); setImmediate(loop); };
read();
console.log('ready');
loop();
`;

suite('a reader in another process', () => {
  test(`never sees files of two commits while ${COMMITS} commits change all of ${FILES} files`, slow, async (t) => {
    const { commit, sandbox, sync } = await localSandbox(t, 'atomic-reader');
    const commitOf = (n: number) =>
      commit({ files: Object.fromEntries(Array.from({ length: FILES }, (_, index) => [nameOf(index), `${n}`])) });
    await sync(profile, await commitOf(0));
    const files = [nameOf(0), nameOf(FILES - 1)].map((name) => name.slice('dags/'.length));
    const reader = spawn(process.execPath, ['-e', READER, path.join(sandbox.data, 'dags'), ...files], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    t.after(() => reader.kill());
    let output = '';
    reader.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
    await once(reader.stdout, 'data');
    for (let n = 1; n <= COMMITS; n += 1) await sync(profile, await commitOf(n));
    const closed = once(reader, 'close');
    reader.stdin.end();
    await closed;
    const [, line = ''] = output.split('\n');
    const { reads, mixed, seen } = JSON.parse(line) as { reads: number; mixed: number; seen: number };
    t.diagnostic(`${reads} reads of ${seen} commits, ${mixed} mixed`);
    assert.equal(mixed, 0);
    assert.ok(seen > COMMITS / 2, `saw only ${seen} commits`);
  });
});

/** Bytes that this process has read and written. */
function transferred(): number {
  const text = fs.readFileSync('/proc/self/io', 'utf8');
  const bytesOf = (name: string) => Number(new RegExp(`^${name}: (\\d+)`, 'm').exec(text)?.[1]);
  return bytesOf('rchar') + bytesOf('wchar');
}

test('a change of one file reads and writes none of the others', {
  skip: !fs.existsSync('/proc/self/io'),
}, async (t) => {
  const { commit, at, sync, deliver } = await localSandbox(t, 'atomic-unchanged-files');
  const text = 'x'.repeat(10_000);
  const files = Object.fromEntries(Array.from({ length: FILES }, (_, index) => [nameOf(index), text]));
  await deliver(files, profile);
  await commit({ files: { [nameOf(7)]: 'changed' } });
  const before = transferred();
  await sync(profile);
  const bytes = transferred() - before;
  t.diagnostic(`${bytes} bytes of ${FILES * text.length}`);
  assert.ok(bytes < (FILES * text.length) / 10, `${bytes} bytes`);
  assert.equal(fs.readFileSync(at(nameOf(7)), 'utf8'), 'changed');
});

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';

const module = new URL('../../../scripts/testbed/free-port.ts', import.meta.url);
/** Draws ports, prints them, and keeps them reserved by running until its stdin ends. */
const program = `
  const { freePort } = await import('${module}');
  const ports = [];
  for (let i = 0; i < 200; i++) ports.push(await freePort());
  console.log(ports.join());
  await new Promise((resolve) => process.stdin.on('end', resolve).resume());`;

test('processes that ask for free ports at the same time are never given the same one', async () => {
  const children = Array.from({ length: 4 }, () =>
    promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program], { timeout: 60_000 }),
  );
  const lines = children.map(async ({ child }) => {
    let text = '';
    for await (const chunk of child.stdout ?? []) {
      text += chunk;
      if (text.endsWith('\n')) break;
    }
    return text.trim().split(',');
  });
  const ports = (await Promise.all(lines)).flat();
  for (const { child } of children) child.stdin?.end();
  await Promise.all(children);

  assert.equal(ports.length, 800);
  assert.equal(new Set(ports).size, 800);
});

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, test } from 'node:test';
import * as v from 'valibot';
import { parse } from 'yaml';
import { ignition } from '../../../agent/gateway/presets/ignition.ts';
import { type Load, memoryProblem } from '../../../agent/plan/memory-need.ts';
import { gatewaySyncSpecSchema } from '../../../shared/api/gateway-sync.ts';

const MIB = 1024 ** 2;
const DEFAULT_LIMIT_MIB = 256;
const page = await readFile(path.join(import.meta.dirname, '../../../docs/how-to/sizing.md'), 'utf8');

const load = (files: number, leaving = 0): Load => ({ files, pathBytes: files * 60, leaving });
const cellsOf = (start: string): string[] =>
  (page.split('\n').find((line) => line.startsWith(`| ${start}`)) ?? '').split(' | ').slice(1);
const numbersOf = (start: string): number[] => cellsOf(start).map((cell) => Number(cell.replaceAll(/\D/g, '')));
/** The limit that the agent would ask for, in MiB; it never asks for less than 128. */
const limitFor = (needed: Load): number =>
  Number(/limits\.memory to (\d+)Mi/.exec(memoryProblem(needed, 16 * MIB) ?? '')?.[1]);

suite('docs/how-to/sizing.md', () => {
  test('has the limits that the agent would ask for', () => {
    const files = numbersOf('files, with paths of 60 bytes');
    assert.equal(files.length, 4);
    assert.deepEqual(
      numbersOf('`limits.memory`'),
      files.map((count) => limitFor(load(count))),
    );
    assert.deepEqual(
      numbersOf('… if all move to other paths'),
      files.map((count) => limitFor(load(count, count))),
    );
  });

  test('says how many files the default limit is enough for', () => {
    const files = Number(/(\d+),000 files \|/.exec(cellsOf('agent, in each').join(' | '))?.[1]) * 1000;
    assert.equal(memoryProblem(load(files), (DEFAULT_LIMIT_MIB / 2) * MIB), undefined);
    assert.notEqual(memoryProblem(load(files * 1.05), (DEFAULT_LIMIT_MIB / 2) * MIB), undefined);
  });

  test('shows the message of an agent without enough memory', () => {
    assert.ok(page.includes(memoryProblem(load(400_000), 128 * MIB) ?? 'none'));
  });
});

suite('docs/how-to/verify-gateways.md', async () => {
  const text = await readFile(path.join(import.meta.dirname, '../../../docs/how-to/verify-gateways.md'), 'utf8');

  test('has an example that the API takes as it is', () => {
    const [, example = ''] = /```yaml\n(.*?)```/s.exec(text) ?? [];
    const { gateway } = parse(example).spec;
    const parsed = v.parse(gatewaySyncSpecSchema.pipe[0].entries.gateway, gateway);
    assert.deepEqual(parsed?.verify, gateway.verify, 'no field that the API does not know');
  });

  test('names the calls of the preset', () => {
    for (const { method, path } of ignition.checks) assert.ok(text.includes(`${method} ${path}`));
  });
});

import assert from 'node:assert/strict';
import { mkdir, rename, rm, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { admittedWaves, oneBadGateway } from '../../../../scripts/faults/invariants/admitted-waves.ts';
import { strangeWrites, writeOf } from '../../../../scripts/faults/invariants/one-writer.ts';
import { differenceOf } from '../../../../scripts/faults/invariants/true-claims.ts';
import { foreignFiles, wholeFiles } from '../../../../scripts/faults/invariants/whole-files.ts';
import { BAD, blobOf, deliveredOf, type Tree } from '../../../../scripts/faults/world/files.ts';
import { Gateway } from '../../../../scripts/faults/world/gateway.ts';
import type { World } from '../../../../scripts/faults/world/world.ts';
import { gatewaySyncOf, rolloutStatusOf } from '../../../support/objects.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { makeResources } from './make-resources.ts';

async function makeGateway(t: TestContext): Promise<Gateway> {
  const data = await temporaryDirectory(t, 'gateway-');
  await mkdir(path.join(data, 'config'));
  return new Gateway({ name: 'a', namespace: 'n', resource: 'r', data, isSmall: false });
}

const fileOf = (content: string) => ({ blob: blobOf(Buffer.from(content)), isExecutable: false });

suite('the comparison of a disk with a commit', () => {
  const commit: Tree = new Map([
    ['site/a', fileOf('a')],
    ['site/b.skip', fileOf('b')],
    ['extra/c', fileOf('c')],
    ['other/d', fileOf('d')],
  ]);

  test("expects only mapped files that aren't excluded", () => {
    assert.deepEqual([...deliveredOf(commit, { hasExtra: false, excludes: true }).keys()], ['config/a']);
    assert.deepEqual([...deliveredOf(commit, { hasExtra: true, excludes: false }).keys()].sort(), [
      'config/a',
      'config/b.skip',
      'extra/c',
    ]);
  });

  test('finds missing, different, and additional files', async (t) => {
    const gateway = await makeGateway(t);
    const wanted = deliveredOf(commit, { hasExtra: false, excludes: true });
    assert.equal(differenceOf(gateway, wanted, gateway.look()), 'config/a is missing');
    await writeFile(path.join(gateway.data, 'config/a'), 'A');
    assert.match(differenceOf(gateway, wanted, gateway.look()) ?? '', /^config\/a is [0-9a-f]{40}, not/);
    await writeFile(path.join(gateway.data, 'config/a'), 'a');
    assert.equal(differenceOf(gateway, wanted, gateway.look()), undefined);
    await writeFile(path.join(gateway.data, 'config/b'), 'b');
    assert.equal(differenceOf(gateway, wanted, gateway.look()), 'config/b should not exist');
  });
});

suite('the check for files of other owners', () => {
  const look = (gateway: Gateway) =>
    foreignFiles({} as World, { files: new Map([[gateway, gateway.look()]]), unchanged: new Map() });
  const changes: Record<string, (file: string) => Promise<unknown>> = {
    touched: (file) => utimes(file, 0, 0),
    'replaced by a copy': (file) => writeFile(`${file}.new`, 'mine').then(() => rename(`${file}.new`, file)),
    removed: (file) => rm(file),
  };
  for (const [name, change] of Object.entries(changes)) {
    test(`finds a file that was ${name}`, async (t) => {
      const gateway = await makeGateway(t);
      await gateway.addForeign('config/own', 'mine');
      assert.deepEqual(await look(gateway), []);
      await change(path.join(gateway.data, 'config/own'));
      assert.equal((await look(gateway)).length, 1);
    });
  }
});

test("a file that isn't from a commit is reported, unless it was changed by hand", async (t) => {
  const gateway = await makeGateway(t);
  const resources = await makeResources(t, 'r');
  resources[0]?.known.known.add(`config/a ${fileOf('a').blob}`);
  const world = { resources } as World;
  const look = () => wholeFiles(world, { files: new Map([[gateway, gateway.look()]]), unchanged: new Map() });
  await writeFile(path.join(gateway.data, 'config/a'), 'a');
  assert.deepEqual(await look(), []);
  await writeFile(path.join(gateway.data, 'config/a'), 'half');
  assert.equal((await look()).length, 1);
  gateway.drifted.add(`config/a ${fileOf('half').blob}`);
  assert.deepEqual(await look(), []);
});

test('a commit that breaks gateways can be on one gateway at most', async (t) => {
  const gateways = [await makeGateway(t), await makeGateway(t)];
  const look = () => oneBadGateway({ gateways } as World, { files: new Map(), unchanged: new Map() });
  for (const [index, gateway] of gateways.entries()) {
    await writeFile(path.join(gateway.data, 'config/health'), BAD);
    assert.equal((await look()).length, index);
  }
});

test("a commit on a gateway whose wave isn't admitted is reported", async (t) => {
  const gateway = await makeGateway(t);
  const [resource = assert.fail()] = await makeResources(t, 'r');
  const { known } = resource;
  const stableCommit = await known.commit();
  const commit = await known.commit();
  const world = { gateways: [gateway] } as World;
  const deliver = async (version: string) => {
    const content = await known.repository.git('show', `${version}:site/version`);
    await writeFile(path.join(gateway.data, 'config/version'), `${content}\n`);
  };
  const objectOf = (admitted: string) => {
    const rollout = { commit, stableCommit, admission: [{ wave: 'rest', members: 'all', admitted }] };
    return gatewaySyncOf({ spec: { rollout: {} }, status: { rollout: rolloutStatusOf(rollout) } });
  };
  for (const [admitted, count] of [
    ['', 1],
    ['all', 0],
  ] as const) {
    const invariant = admittedWaves();
    const look = () => {
      const files = new Map([[gateway, gateway.look()]]);
      return invariant(world, { files, unchanged: new Map([[resource, objectOf(admitted)]]) });
    };
    await deliver(stableCommit);
    assert.deepEqual(await look(), []);
    await deliver(commit);
    assert.equal((await look()).length, count);
  }
});

suite('the check for status writers', () => {
  const at = (second: number) => `2026-01-01T00:00:${String(second).padStart(2, '0')}`;
  const event = (given: { pod: string; resource: string; second: number; holder?: string; code?: number }) =>
    JSON.stringify({
      user: { extra: { 'authentication.kubernetes.io/pod-name': [given.pod] } },
      objectRef: { resource: given.resource, name: 'lines' },
      requestReceivedTimestamp: `${at(given.second)}.000000Z`,
      stageTimestamp: `${at(given.second)}.100000Z`,
      responseStatus: { code: given.code ?? 200 },
      requestObject: {
        spec: {
          holderIdentity: given.holder && `${given.holder}_1`,
          renewTime: `${at(given.second)}.000000Z`,
          leaseDurationSeconds: given.holder ? 15 : 1,
        },
      },
    });
  const lease = (pod: string, second: number, code?: number) =>
    event({ pod, resource: 'leases', second, holder: pod, ...(code && { code }) });
  const handBack = (pod: string, second: number) => event({ pod, resource: 'leases', second, holder: '' });
  const status = (pod: string, second: number) => event({ pod, resource: 'gatewaysyncs', second });
  const judge = (...lines: string[]) => strangeWrites(lines.flatMap(writeOf));

  test('accepts the holder of the Lease', () => {
    assert.deepEqual(judge(lease('a', 1), status('a', 2), lease('b', 3), status('b', 4)), []);
  });

  test("reports a replica that doesn't hold the Lease", () => {
    assert.equal(judge(lease('a', 1), lease('b', 3), status('a', 4)).length, 1);
  });

  test('reports a write before there is a Lease', () => {
    assert.equal(judge(status('a', 1), lease('a', 2)).length, 1);
  });

  test('reports a write after the Lease was handed back, until a replica takes it again', () => {
    const taken = lease('a', 1);
    const returned = handBack('a', 3);
    assert.match(judge(taken, returned, status('a', 4)).join(), /was released/);
    assert.deepEqual(judge(taken, status('a', 2), returned, lease('b', 5), status('b', 6)), []);
  });

  test('reports a write after the Lease has expired, counted from its last renewal', () => {
    const taken = lease('a', 1);
    assert.match(judge(taken, status('a', 19)).join(), /had expired/);
    assert.deepEqual(judge(taken, status('a', 17)), []);
    assert.deepEqual(judge(taken, lease('a', 10), status('a', 19)), []);
  });

  test('accepts the holder after another replica failed to take the Lease', () => {
    assert.deepEqual(judge(lease('a', 1), lease('b', 3, 409), status('a', 4)), []);
  });
});

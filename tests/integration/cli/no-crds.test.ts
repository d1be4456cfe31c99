import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startApiServer } from '../../../scripts/testbed/control-plane.ts';
import { runCli } from '../../support/run-cli.ts';

test('kubectl gs says that the operator is not installed, in one line', async (t) => {
  const server = await startApiServer();
  t.after(() => server.stop());
  for (const line of [['status'], ['status', 'plant'], ['pause', 'plant', '--yes']]) {
    const { status, output, notes } = await runCli([...line, '--kubeconfig', server.kubeconfig]);
    assert.deepEqual([status, output], [3, ''], notes);
    assert.match(notes, /^error: the CRDs of the operator are not installed in this cluster.*: install the chart.*\n$/);
  }
});

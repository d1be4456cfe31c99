import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import type { V1ClusterRole } from '@kubernetes/client-node';
import { parse } from 'yaml';
import { AGENT_PERMISSIONS } from '../../../shared/api/agent-permissions.ts';

test('the ClusterRole of the chart grants exactly the permissions that agents use and doctor checks', async () => {
  const file = path.join(import.meta.dirname, '../../../chart/templates/agent/cluster-role.yaml');
  const template = await readFile(file, 'utf8');
  // The rules contain no expressions.
  const role = parse(template.replaceAll(/^.*\{\{.*$/gm, '')) as V1ClusterRole;
  const granted = role.rules?.map(({ apiGroups, resources, verbs }) => ({ apiGroups, resources, verbs }));
  assert.deepEqual(granted, AGENT_PERMISSIONS);
});

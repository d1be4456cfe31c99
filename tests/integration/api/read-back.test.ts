import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { parseAllDocuments } from 'yaml';
import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import { API_VERSION, GATEWAY_SYNC } from '../../../shared/api/group.ts';
import { gatewaySyncPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { apply, callApi, createNamespace } from '../../support/cluster.ts';
import { differences } from '../../support/differences.ts';
import { readManifests } from '../../support/markdown.ts';

interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string };
  spec: object;
}

/** Every list of objects that a spec can have, with only the required fields. */
const lists = {
  git: { repo: 'https://git.test/app.git', ref: 'main' },
  webhook: { allowedRefs: ['v*'], repositories: ['a/b'] },
  sync: {
    defaults: { checks: [{ files: '**/*.json', format: 'json' }], excludePatterns: ['*.md'] },
    profiles: {
      default: {
        mappings: [
          { source: 'a', destination: 'b' },
          { source: 'c', destination: 'd', patches: [{ file: 'x.json', set: { 'a.b': '1' } }] },
        ],
        checks: [{ files: '*.yaml', format: 'yaml' }],
      },
    },
  },
  gateway: {
    reload: {
      requests: [
        { path: '/a' },
        {
          path: '/b',
          headers: [{ name: 'X', value: 'y' }],
          headersFrom: [{ name: 'Y', secretRef: { name: 's', key: 'k' } }],
        },
      ],
    },
    verify: {
      requests: [
        { path: '/' },
        { path: '/', expect: { json: ['text', 2, false, null].map((equals) => ({ path: '/a', equals })) } },
      ],
    },
  },
  rollout: {
    waves: [
      { name: 'first', selector: { matchExpressions: [{ key: 'a', operator: 'Exists' }] } },
      { name: 'second', selector: {} },
    ],
    windows: [{ kind: 'Allow', schedule: '0 8 * * *', duration: '8h' }, { kind: 'Deny' }],
  },
};

const ofLists: Manifest = {
  apiVersion: API_VERSION,
  kind: GATEWAY_SYNC.kind,
  metadata: { name: 'lists' },
  spec: lists,
};

async function readExamples(): Promise<Manifest[]> {
  const documents = (await readManifests()).flatMap(({ text }) => parseAllDocuments(text));
  return documents.map((document) => document.toJS()).filter(({ kind }) => kind === GATEWAY_SYNC.kind);
}

suite('a GatewaySync has the fields of its manifest, so GitOps tools report no drift', () => {
  const read = (namespace: string, name: string) => callApi<GatewaySync>({ path: gatewaySyncPath(namespace, name) });

  test('after server-side apply, which changes nothing if it is repeated', async (t) => {
    const namespace = await createNamespace(t);
    const given = [...(await readExamples()), ofLists];
    assert.ok(given.length > 5);
    for (const [index, { metadata, spec, ...rest }] of given.entries()) {
      const name = `${metadata.name}-${index}`;
      const manifest = { ...rest, metadata: { name, namespace }, spec };
      await apply(manifest);
      const stored = await read(namespace, name);
      assert.deepEqual(differences(spec, stored.spec, { isCustom: true }), [], name);
      await apply(manifest);
      const again = await read(namespace, name);
      assert.deepEqual([again.spec, again.metadata.generation], [stored.spec, 1], name);
    }
  });

  test('after a client created it', async (t) => {
    const namespace = await createNamespace(t);
    await callApi({ method: 'POST', path: gatewaySyncPath(namespace), body: ofLists });
    const stored = await read(namespace, 'lists');
    assert.deepEqual(differences(lists, stored.spec, { isCustom: true }), []);
  });
});

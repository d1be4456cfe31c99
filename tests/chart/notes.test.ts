import assert from 'node:assert/strict';
import { rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { before, suite, test } from 'node:test';
import { chart, helm, renderTogether } from './support/render.ts';

type Values = Record<string, unknown>;

const receiver = { 'webhookReceiver.enabled': true };
const hmac = { 'webhookReceiver.hmac.secret': 'x' };
const token = { 'webhookReceiver.token.secretRef.name': 'x' };
const withHmac = { ...receiver, ...hmac };
const withToken = { ...receiver, ...token };
const ingress = { 'webhookReceiver.ingress.enabled': true };
const route = {
  'webhookReceiver.httpRoute.enabled': true,
  'webhookReceiver.httpRoute.parentRefs': [{ name: 'public' }],
  'webhookReceiver.httpRoute.hostnames': ['hooks.test'],
};
const walled = { 'networkPolicy.enabled': true };
const receiverWalled = { 'webhookReceiver.networkPolicy.enabled': true };
const tlsFor = (...hosts: string[]) => ({
  'webhookReceiver.ingress.tls': [{ secretName: 'x', ...(hosts.length > 0 && { hosts }) }],
});
/** An Ingress of the receiver with these hosts. */
const ingressOf = (...hosts: string[]) => ({
  ...receiver,
  ...ingress,
  'webhookReceiver.ingress.hosts': hosts.map((host) => ({ host, paths: [{ path: '/webhook', pathType: 'Prefix' }] })),
});

const noTls = /WARNING: the Ingress of the receiver has no TLS/;
const noReceiver = /WARNING: webhookReceiver.enabled is false/;
const oneReplica = /NOTE: with one replica.*replicaCount=2/s;
const noPeers = /WARNING: networkPolicy\.metricsFrom is empty/;
const peersOf = (programs: string) =>
  new RegExp(`Only the peers in networkPolicy\\.metricsFrom.* can reach the metrics of ${programs}\\. `, 's');

/** Parts of the notes that depend on values, with sets of values that have them, and sets that don't. */
const cases: { shown: RegExp; by: Values[]; notBy: Values[] }[] = [
  { shown: /WARNING/, by: [], notBy: [{}, { ...ingressOf('hooks.test'), ...hmac, ...token, ...tlsFor() }] },
  {
    shown: /WARNING: the receiver requires no authentication/,
    by: [receiver],
    notBy: [withHmac, withToken],
  },
  {
    shown: noTls,
    by: [
      { ...ingressOf('hooks.test'), ...token },
      { ...ingressOf(''), ...token, ...tlsFor('hooks.test') },
      { ...ingressOf('hooks.test'), ...token, ...tlsFor('other.test') },
      { ...ingressOf('a.hooks.test'), ...token, ...tlsFor('*.test') },
    ],
    notBy: [
      withToken,
      { ...ingressOf('hooks.test'), ...hmac },
      { ...ingressOf('hooks.test'), ...token, ...tlsFor('other.test', 'hooks.test') },
      { ...ingressOf('hooks.test', '*.test'), ...token, ...tlsFor('*.test') },
    ],
  },
  { shown: noReceiver, by: [ingress, { 'webhookReceiver.httpRoute.enabled': true }], notBy: [{}] },
  {
    shown: oneReplica,
    by: [{}],
    notBy: [{ replicaCount: 2 }, { 'webhook.failurePolicy': 'Ignore' }, { 'webhook.enabled': false }],
  },
  {
    shown: /WARNING: crds.keep is false/,
    by: [{ 'crds.keep': false }],
    notBy: [{ 'crds.keep': false, 'crds.install': false }],
  },
  {
    shown: /WARNING: leaderElection.enabled is false with 2 replicas/,
    by: [{ 'leaderElection.enabled': false, replicaCount: 2 }],
    notBy: [{ 'leaderElection.enabled': false }, { replicaCount: 2 }],
  },
  { shown: /WARNING: webhook.enabled is false/, by: [{ 'webhook.enabled': false }], notBy: [{}] },
  { shown: /http:\/\/test-stoker-operator-receiver\.operator\.svc:9444\/webhook\//, by: [receiver], notBy: [{}] },
  {
    shown: /port-forward --namespace operator service\/\S+ 9444:9444/,
    by: [receiver],
    notBy: [{}, { ...withHmac, ...route }],
  },
  {
    shown: / https:\/\/hooks\.test\/webhook\//,
    by: [
      { ...ingressOf('hooks.test'), ...hmac, ...tlsFor() },
      { ...ingressOf('a.test', 'hooks.test'), ...token, ...tlsFor('*.b.test', 'hooks.test') },
      { ...withHmac, ...route },
    ],
    notBy: [{ ...ingressOf('hooks.test'), ...token, ...tlsFor('a.test') }],
  },
  {
    shown: / http:\/\/b\.test\/webhook\/.*has no TLS for b\.test \(/s,
    by: [{ ...ingressOf('a.test', 'b.test', 'c.b.test'), ...token, ...tlsFor('a.test', '*.b.test') }],
    notBy: [],
  },
  { shown: /:\/\/\//, by: [], notBy: [{ ...ingressOf(''), ...token, ...tlsFor('a.test') }] },
  {
    shown: peersOf('the controller'),
    by: [walled],
    notBy: [
      {},
      receiverWalled,
      { ...walled, 'metrics.enabled': false },
      { ...walled, 'networkPolicy.metricsFrom': [] },
    ],
  },
  {
    shown: peersOf('the controller and the receiver'),
    by: [{ ...walled, ...receiver, ...receiverWalled }],
    notBy: [{ ...receiver, ...receiverWalled }],
  },
  { shown: peersOf('the receiver'), by: [{ ...receiver, ...receiverWalled }], notBy: [walled] },
  { shown: noPeers, by: [{ ...walled, 'networkPolicy.metricsFrom': [] }], notBy: [walled] },
  { shown: /label their namespace/, by: [{ 'webhook.namespaceSelector.requireLabel': true }], notBy: [{}] },
];

/** Moves the notes into an object, because helm shows no notes of the parts of a chart. */
async function moveNotes(directory: string): Promise<void> {
  await rename(path.join(directory, 'templates/NOTES.txt'), path.join(directory, 'NOTES.txt'));
  const template = 'kind: Notes\ntext: {{ tpl (.Files.Get "NOTES.txt") . | toJson }}\n';
  await writeFile(path.join(directory, 'templates/notes.yaml'), template);
}

suite('the notes of a Helm installation', () => {
  const notes = new Map<Values, string>();
  before(async () => {
    const sets = cases.flatMap(({ by, notBy }) => [...by, ...notBy]);
    const rendered = await renderTogether(sets, { prepare: moveNotes });
    for (const [index, values] of sets.entries())
      notes.set(values, rendered[index]?.find(({ kind }) => kind === 'Notes')?.text);
  });

  for (const { shown, by, notBy } of cases)
    test(`contain /${shown.source}/ only if it applies`, () => {
      for (const values of by) assert.match(notes.get(values) ?? '', shown, JSON.stringify(values));
      for (const values of notBy) assert.doesNotMatch(notes.get(values) ?? '', shown, JSON.stringify(values));
    });

  test('are shown by helm', async (t) => {
    // Helm 3 shows notes only if a cluster has all kinds, those of cert-manager included.
    if ((await helm('version', '--short')).startsWith('v3')) return t.skip('it needs Helm 4');
    const output = await helm('install', 'test', chart, '--namespace=operator', '--dry-run=client');
    assert.match(output, oneReplica);
  });
});

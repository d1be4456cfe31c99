import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { sources } from '../../scripts/testbed/versions.ts';
import { chart, helm } from './support/render.ts';

const skip =
  sources.helm.version.startsWith('3.') &&
  'Helm 3 shows notes only where a cluster has all kinds, those of cert-manager too';

const rendered = new Map<string, Promise<string>>();

function notesOf(...values: string[]): Promise<string> {
  const flags = values.map((value) => `--set=${value}`);
  const notes = rendered.get(flags.join()) ?? renderNotes(flags);
  rendered.set(flags.join(), notes);
  return notes;
}

async function renderNotes(flags: string[]): Promise<string> {
  const output = await helm('install', 'test', chart, '--namespace=operator', '--dry-run=client', ...flags);
  return output.slice(output.indexOf('\nNOTES:'));
}

const receiver = 'webhookReceiver.enabled=true';
const hmac = 'webhookReceiver.hmac.secret=x';
const token = 'webhookReceiver.token.secretRef.name=x';
const ingress = 'webhookReceiver.ingress.enabled=true';
const tls = 'webhookReceiver.ingress.tls[0].secretName=x';
const tlsFor = (...hosts: string[]) => `webhookReceiver.ingress.tls[0].hosts={${hosts.join()}}`;

/** An Ingress of the receiver with these hosts. */
function ingressOf(...hosts: string[]): string[] {
  return [
    receiver,
    ingress,
    ...hosts.map((host, at) => {
      const own = `webhookReceiver.ingress.hosts[${at}]`;
      return `${own}.host=${host},${own}.paths[0].path=/webhook,${own}.paths[0].pathType=Prefix`;
    }),
  ];
}

/** Warnings in the notes, with values that cause them and values that don't. */
const warnings: { words: RegExp; warned: string[][]; silent: string[][] }[] = [
  {
    words: /WARNING: the receiver requires no authentication/,
    warned: [[receiver]],
    silent: [[], [receiver, hmac], [receiver, token]],
  },
  {
    words: /WARNING: the Ingress of the receiver has no TLS/,
    warned: [
      [...ingressOf('hooks.test'), token],
      [...ingressOf(''), token, tlsFor('hooks.test')],
      [...ingressOf('hooks.test'), token, tlsFor('other.test')],
      [...ingressOf('a.hooks.test'), token, tlsFor('*.test')],
    ],
    silent: [
      [receiver, token],
      [...ingressOf('hooks.test'), hmac],
      [...ingressOf('hooks.test'), token, tls],
      [...ingressOf('hooks.test'), token, tlsFor('other.test', 'hooks.test')],
      [...ingressOf('hooks.test', '*.test'), token, tlsFor('*.test')],
    ],
  },
  {
    words: /WARNING: webhookReceiver.enabled is false, so the receiver, its Ingress, and its HTTPRoute/,
    warned: [[ingress], ['webhookReceiver.httpRoute.enabled=true']],
    silent: [[], [...ingressOf('hooks.test'), token]],
  },
  {
    words: /NOTE: with one replica, pods .* are rejected while the controller restarts.*replicaCount=2/s,
    warned: [[]],
    silent: [['replicaCount=2'], ['webhook.failurePolicy=Ignore'], ['webhook.enabled=false']],
  },
  {
    words: /WARNING: crds.keep is false/,
    warned: [['crds.keep=false']],
    silent: [[], ['crds.keep=false', 'crds.install=false']],
  },
  {
    words: /WARNING: leaderElection.enabled is false with 2 replicas/,
    warned: [['leaderElection.enabled=false', 'replicaCount=2']],
    silent: [['leaderElection.enabled=false'], ['replicaCount=2']],
  },
  { words: /WARNING: webhook.enabled is false/, warned: [['webhook.enabled=false']], silent: [[]] },
];

suite('the notes of a Helm installation', { skip }, () => {
  for (const { words, warned, silent } of warnings) {
    test(`contain /${words.source}/ only if it applies`, async () => {
      for (const values of warned) assert.match(await notesOf(...values), words, values.join());
      for (const values of silent) assert.doesNotMatch(await notesOf(...values), words, values.join());
    });
  }

  test('have no warning for an installation without problems', async () => {
    assert.doesNotMatch(await notesOf(), /WARNING/);
    assert.doesNotMatch(await notesOf(...ingressOf('hooks.test'), hmac, token, tls), /WARNING/);
  });

  test('contain the URL of the receiver', async () => {
    const inside = /http:\/\/test-stoker-operator-receiver\.operator\.svc:9444\/webhook\//;
    assert.match(await notesOf(receiver), inside);
    assert.match(await notesOf(receiver), /port-forward --namespace operator service\/\S+ 9444:9444/);
    assert.doesNotMatch(await notesOf(), /receiver/);
    const notes = await notesOf(...ingressOf('hooks.test'), hmac, tls);
    assert.match(notes, /https:\/\/hooks\.test\/webhook\//);
  });

  test('use https only for hosts with TLS, and list the others', async () => {
    const notes = await notesOf(...ingressOf('a.test', 'b.test', 'c.b.test'), token, tlsFor('a.test', '*.b.test'));
    assert.match(notes, / https:\/\/a\.test\/webhook\//);
    assert.match(notes, / http:\/\/b\.test\/webhook\//);
    assert.match(notes, / https:\/\/c\.b\.test\/webhook\//);
    assert.match(notes, /has no TLS for b\.test \(webhookReceiver\.ingress\.tls\)/);
  });

  test('contain no host if all hosts lead to the receiver', async () => {
    const notes = await notesOf(...ingressOf(''), token, tlsFor('a.test'));
    assert.doesNotMatch(notes, /:\/\/\//);
    assert.match(notes, /has no TLS for any other host \(webhookReceiver\.ingress\.tls\)/);
  });

  test('contain the host names of an HTTPRoute', async () => {
    const route = ['httpRoute.enabled=true', 'httpRoute.parentRefs[0].name=public', 'httpRoute.hostnames={hooks.test}'];
    const notes = await notesOf(receiver, hmac, ...route.map((value) => `webhookReceiver.${value}`));
    assert.match(notes, /https:\/\/hooks\.test\/webhook\//);
    assert.doesNotMatch(notes, /port-forward/);
  });

  test('list the clients that a NetworkPolicy lets read the metrics, because alerts depend on them', async () => {
    const words = /Only the peers in networkPolicy\.metricsFrom[\s\S]*metrics: enabled/;
    const walled = 'networkPolicy.enabled=true';
    const receiverWalled = 'webhookReceiver.networkPolicy.enabled=true';
    assert.match(await notesOf(walled), words);
    assert.match(await notesOf(walled), /can reach the metrics of the controller\. They/);
    assert.match(
      await notesOf(walled, receiver, receiverWalled),
      /can reach the metrics of the controller and the receiver\. They/,
    );
    assert.match(await notesOf(receiver, receiverWalled), /can reach the metrics of the receiver\. They/);
    assert.doesNotMatch(await notesOf(receiverWalled), words);
    assert.doesNotMatch(await notesOf(), words);
    assert.doesNotMatch(await notesOf(walled, 'metrics.enabled=false'), words);
  });

  test('mention that all clients can read the metrics if a NetworkPolicy has no peers', async () => {
    const notes = await notesOf('networkPolicy.enabled=true', 'networkPolicy.metricsFrom=null');
    assert.match(
      notes,
      /WARNING: networkPolicy\.metricsFrom is empty, so all clients can reach the metrics of the controller/,
    );
    assert.doesNotMatch(notes, /Only the peers/);
  });

  test('list namespaces that need a label, if there are any', async () => {
    const words = /label their namespace/;
    assert.doesNotMatch(await notesOf(), words);
    assert.match(await notesOf('webhook.namespaceSelector.requireLabel=true'), words);
  });
});

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { blocksOf } from '../support/markdown.ts';
import type { Recipe } from './recipe.ts';

const page = path.join(import.meta.dirname, '../../docs/how-to/reload-by-signal.md');

const [, section = ''] = readFileSync(page, 'utf8').split('\n### Prometheus\n');
const [text = ''] = section.split(/^##/m);
const blocks = blocksOf({ file: page, text });
const [configuration] = blocks;
const settings = blocks.find(({ code }) => code.startsWith('spec:'));
assert.ok(configuration && settings, 'the page has no configuration or no settings of Prometheus');

const filesOf = (version: string) => ({
  'prometheus.yml': configuration.code.replace(
    'scrape_interval: 15s',
    `scrape_interval: 1s\n  external_labels: {version: ${version}}`,
  ),
});

const answerOf = (version: string) => ({
  command: 'curl --silent http://127.0.0.1:9090/api/v1/status/config | grep --only-matching "version: [a-z]*"',
  output: `version: ${version}`,
});

/** Prometheus that reloads when it gets a signal, with the configuration and the settings of the how-to guide. */
export const documentedPrometheus: Recipe = {
  name: 'prometheus-by-signal',
  spec: {
    ...parse(settings.code).spec,
    sync: { profiles: { default: { mappings: [{ source: '.', destination: 'config', template: true }] } } },
    rollout: { waves: [{ name: 'canary', gateways: 1 }], onFailure: 'Rollback' },
  },
  template: {
    metadata: { labels: {}, annotations: { 'sync.io/inject': 'true' } },
    spec: {
      shareProcessNamespace: true,
      securityContext: { runAsUser: 65534, runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
      containers: [
        {
          name: 'prometheus',
          image: 'prometheus',
          command: ['prometheus'],
          args: [
            '--config.file=/srv/config/prometheus.yml',
            '--storage.tsdb.path=/prometheus',
            '--web.listen-address=:9090',
          ],
          ports: [{ containerPort: 9090 }],
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
          volumeMounts: [
            { name: 'data', mountPath: '/srv' },
            { name: 'metrics', mountPath: '/prometheus' },
          ],
        },
      ],
      volumes: [
        { name: 'data', emptyDir: {} },
        { name: 'metrics', emptyDir: {} },
      ],
    },
  },
  configMaps: new Map(),
  secrets: new Map(),
  files: filesOf('one'),
  before: answerOf('one'),
  changed: filesOf('two'),
  after: answerOf('two'),
  mistakes: [
    {
      files: { 'prometheus.yml': `${filesOf('three')['prometheus.yml']}unknown: {}\n` },
      file: 'prometheus.yml',
      line: 'unknown: {}',
      message: '(GET /api/v1/status/config)',
      isDelivered: true,
    },
  ],
};

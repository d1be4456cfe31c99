import { parseAllDocuments } from 'yaml';
import type { PodSpec } from '../../../../cli/migrate/manifest.ts';
import type { Notes } from '../../../../cli/migrate/source.ts';
import type { SpecInput } from '../../../support/objects.ts';
import { runCli } from '../../../support/run-cli.ts';

/** Runs the command with a manifest on stdin. */
export const migrateText = (text: string, ...options: string[]) =>
  runCli(['migrate', '-f', '-', ...options], { input: async () => text });

/** A pod with git-sync, and an application that reads its files. */
export const podWith = (
  container: object,
  { app = {}, spec = {}, metadata = {} }: { app?: object; spec?: object; metadata?: object } = {},
): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'site', ...metadata },
    spec: {
      containers: [
        { name: 'app', image: 'app', volumeMounts: [{ name: 'html', mountPath: '/html' }], ...app },
        {
          name: 'sync',
          image: 'registry.k8s.io/git-sync/git-sync:v4.4.0',
          volumeMounts: [{ name: 'html', mountPath: '/git' }],
          ...container,
        },
      ],
      volumes: [{ name: 'html', emptyDir: {} }],
      ...spec,
    },
  });

export const REPO = '--repo=https://git.example.com/acme/site.git';
export const variable = (name: string, value: string) => ({ name, value });
export const fromSecret = (name: string) => ({ name, valueFrom: { secretKeyRef: { name: 'access', key: 'pass' } } });

/** Returns the spec of the printed GatewaySync. */
export const specOf = (output: string) => (parseAllDocuments(output)[0] as { toJS(): { spec: SpecInput } }).toJS().spec;

/** Returns the printed pod. */
export const podIn = (output: string) =>
  (
    parseAllDocuments(output)[1] as { toJS(): { metadata: { annotations?: Record<string, string> }; spec: PodSpec } }
  ).toJS();

/** The level of each note with the options, variables, and fields that it names. */
export const briefOf = (notes: Pick<Notes, 'lines'>) =>
  linesOf(notes).map((line) => {
    const named = line.match(/--[a-z][\w-]*|spec(?:\.\w+)+|\b[A-Z]+(?:_[A-Z]+)+\b|\b[a-z]+_proxy\b/g) ?? [];
    return [line.slice(0, line.indexOf(':')), ...new Set(named)].join(' ');
  });

/** Formats notes as in the output. */
export const linesOf = ({ lines }: Pick<Notes, 'lines'>) => lines.map((line) => line.replace(/^TODO/, 'todo'));

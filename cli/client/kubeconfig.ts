import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { KubeConfig } from '@kubernetes/client-node';
import { messageOf } from '../../shared/errors.ts';
import { EXIT, Problem } from './problem.ts';

/** Loads the specified file, or else the files of a list, or else the default file. Throws {@link Problem}. */
export function loadKubeconfig(file: string | undefined, list = ''): KubeConfig {
  const files = list.split(path.delimiter).filter(Boolean);
  const config = attemptToLoad(() => {
    if (file !== undefined) return loadFile(file);
    if (files.length > 0) return mergeFiles(files);
    const usual = new KubeConfig();
    usual.loadFromDefault();
    return usual;
  });
  // The library returns this default if no file exists.
  const isDefault =
    config.getCurrentCluster()?.server === 'http://localhost:8080' && config.getCurrentUser()?.name === 'user';
  const isEmpty = config.getContexts().length + config.getClusters().length === 0;
  if (isDefault || isEmpty)
    throw new Problem(
      'no kubeconfig found: set KUBECONFIG, or add --kubeconfig FILE, as for kubectl',
      EXIT.unavailable,
    );
  return config;
}

function attemptToLoad(load: () => KubeConfig): KubeConfig {
  try {
    return load();
  } catch (error) {
    throw new Problem(`cannot read the kubeconfig: ${messageOf(error)}`, EXIT.unavailable, { cause: error });
  }
}

/** Merges files as kubectl does: missing files are skipped, and the first value wins. */
function mergeFiles(files: readonly string[]): KubeConfig {
  const configs = files.filter((file) => existsSync(file)).map(loadFile);
  const merged = new KubeConfig();
  merged.loadFromOptions({
    clusters: firstOfEach(configs.flatMap((config) => config.getClusters())),
    users: firstOfEach(configs.flatMap((config) => config.getUsers())),
    contexts: firstOfEach(configs.flatMap((config) => config.getContexts())),
    currentContext: configs.map((config) => config.getCurrentContext()).find(Boolean),
  });
  return merged;
}

function firstOfEach<T extends { name: string }>(entries: readonly T[]): T[] {
  return entries.filter(({ name }, index) => entries.findIndex((entry) => entry.name === name) === index);
}

/** Loads a file. Its paths are relative to its directory. */
function loadFile(file: string): KubeConfig {
  const config = new KubeConfig();
  // The library rejects an empty file.
  if (readFileSync(file, 'utf8').trim() !== '') config.loadFromFile(file);
  return config;
}

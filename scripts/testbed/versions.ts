import { createHash } from 'node:crypto';

/** Name of a binary that the test bed can provide. */
export type BinaryName =
  | 'etcd'
  | 'gitea'
  | 'helm'
  | 'kube-apiserver'
  | 'kube-controller-manager'
  | 'kubeconform'
  | 'kubectl'
  | 'prometheus'
  | 'promtool';

/** How Go builds one binary: its main package, the release, and the variables that the release process stamps. */
export interface Source {
  /** Folder of the Go module that holds the requirement; binaries of one project share theirs. */
  module: string;
  package: string;
  version: string;
  /** Where the Go module counts otherwise than the release. */
  moduleVersion?: string;
  stamps: Record<string, string>;
  tags?: string[];
  /** Whether its module replaces others, which counts only where it is the main one. */
  replaces?: true;
  /** Whether it needs a C compiler. */
  cgo?: true;
  /** Folders of its module that it reads at run time: they are put next to the binary. */
  data?: string[];
}

/** Release of Kubernetes that the tests run against, without the `v`; the environment may name another one. */
export const kubernetesVersion = chosen('KUBERNETES_VERSION', '1.36.3');

/** Release of the modules that Kubernetes keeps in its staging folder and publishes apart, without the `v`. */
export const kubernetesStagingVersion = kubernetesVersion.replace(/^1\./, '0.');

const etcdVersion = '3.6.5';
/** Later ones declare another path than the one under which they are published. */
const giteaVersion = '1.26.0';
const helmVersion = chosen('HELM_VERSION', '4.3.1');
const kubeconformVersion = '0.8.0';
const prometheusVersion = '3.15.0';

const [kubernetesMajor = '', kubernetesMinor = ''] = kubernetesVersion.split('.');
const [helmMajor = ''] = helmVersion.split('.');

/** Helm and kubectl refuse or misjudge an API server without these. */
const kubernetesStamps = {
  'k8s.io/component-base/version.gitVersion': `v${kubernetesVersion}`,
  'k8s.io/component-base/version.gitMajor': kubernetesMajor,
  'k8s.io/component-base/version.gitMinor': kubernetesMinor,
};

/** Without a cluster Helm 3 renders for 1.20 where nothing else is stamped, which the chart refuses. */
const helmStamps = {
  [`helm.sh/helm/v${helmMajor}/internal/version.version`]: `v${helmVersion}`,
  ...(helmMajor === '3' && {
    'helm.sh/helm/v3/pkg/chartutil.k8sVersionMinor': kubernetesMinor,
    'helm.sh/helm/v3/pkg/lint/rules.k8sVersionMinor': kubernetesMinor,
  }),
};

const kubernetesCommand = (name: string): Source => ({
  module: 'kubernetes',
  package: `k8s.io/kubernetes/cmd/${name}`,
  version: kubernetesVersion,
  stamps: kubernetesStamps,
});

const prometheusCommand = (name: string): Source => ({
  module: 'prometheus',
  package: `github.com/prometheus/prometheus/cmd/${name}`,
  version: prometheusVersion,
  // Prometheus 3.15 is 0.315 as a Go module.
  moduleVersion: '0.315.0',
  stamps: {},
  // Targets are given, not discovered: the clients of every cloud take most of the build.
  tags: ['remove_all_sd'],
});

/** Where each binary comes from. */
export const sources: Record<BinaryName, Source> = {
  etcd: { module: 'etcd', package: 'go.etcd.io/etcd/server/v3', version: etcdVersion, stamps: {} },
  gitea: {
    module: 'gitea',
    package: 'code.gitea.io/gitea',
    version: giteaVersion,
    stamps: { 'main.Version': giteaVersion },
    tags: ['sqlite', 'sqlite_unlock_notify'],
    replaces: true,
    cgo: true,
    data: ['options', 'public', 'templates'],
  },
  helm: {
    module: 'helm',
    package: `helm.sh/helm/v${helmMajor}/cmd/helm`,
    version: helmVersion,
    stamps: helmStamps,
  },
  'kube-apiserver': kubernetesCommand('kube-apiserver'),
  'kube-controller-manager': kubernetesCommand('kube-controller-manager'),
  kubeconform: {
    module: 'kubeconform',
    package: 'github.com/yannh/kubeconform/cmd/kubeconform',
    version: kubeconformVersion,
    stamps: { 'main.version': `v${kubeconformVersion}` },
  },
  kubectl: kubernetesCommand('kubectl'),
  prometheus: prometheusCommand('prometheus'),
  promtool: prometheusCommand('promtool'),
};

const platform = process.platform;
const arch = process.arch === 'x64' ? 'amd64' : process.arch;

/** A published file (a binary, or an archive that holds it) and the file that lists its checksum. */
export interface Release {
  url: string;
  checksums: string;
}

const onGitHub = (repository: string, version: string, file: string, checksums: string): Release => {
  const folder = `https://github.com/${repository}/releases/download/v${version}`;
  return { url: `${folder}/${file}`, checksums: `${folder}/${checksums}` };
};

const prometheusRelease = onGitHub(
  'prometheus/prometheus',
  prometheusVersion,
  `prometheus-${prometheusVersion}.${platform}-${arch}.tar.gz`,
  'sha256sums.txt',
);

const helmArchive = `https://get.helm.sh/helm-v${helmVersion}-${platform}-${arch}.tar.gz`;
const controllerManager = `https://dl.k8s.io/release/v${kubernetesVersion}/bin/linux/${arch}/kube-controller-manager`;

/** Where binaries are published for this platform. The rest of Kubernetes comes as one archive, which an index names. */
export const releases: Partial<Record<BinaryName, Release>> = {
  helm: { url: helmArchive, checksums: `${helmArchive}.sha256sum` },
  ...(platform === 'linux' && {
    'kube-controller-manager': { url: controllerManager, checksums: `${controllerManager}.sha512` },
  }),
  kubeconform: onGitHub('yannh/kubeconform', kubeconformVersion, `kubeconform-${platform}-${arch}.tar.gz`, 'CHECKSUMS'),
  prometheus: prometheusRelease,
  promtool: prometheusRelease,
};

/** The index of the archives with etcd, kube-apiserver and kubectl that are published for controller tests. */
export const envtestIndex =
  'https://raw.githubusercontent.com/kubernetes-sigs/controller-tools/HEAD/envtest-releases.yaml';

/** Binaries of an archive of that index. */
export const envtestNames: BinaryName[] = ['etcd', 'kube-apiserver', 'kubectl'];

/** The version that an environment variable names, such as `1.30.14`, or the one that is given. Throws where it is none. */
function chosen(variable: string, version: string): string {
  const given = process.env[variable] || version;
  if (!/^\d+\.\d+\.\d+$/.test(given)) throw new Error(`${variable} must be a version such as ${version}, not ${given}`);
  return given;
}

/** Names what one binary is made of: it changes with its version, with how it is built, and with the platform. */
export function cacheKey(name: BinaryName): string {
  const hash = createHash('sha256').update(JSON.stringify(sources[name])).digest('hex').slice(0, 8);
  return `${name}-${sources[name].version}-${platform}-${arch}-${hash}`;
}

import { hash } from 'node:crypto';

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

/** Instructions for Go to build one binary: main package, release, and the variables that releases stamp. */
export interface Source {
  /** Directory of the Go module that holds the requirement; binaries of one project share theirs. */
  module: string;
  package: string;
  version: string;
  /** Version of the Go module, if it differs from the release. */
  moduleVersion?: string;
  stamps: Record<string, string>;
  tags?: string[];
  /** Its module replaces others. Go considers that only for the main module. */
  replaces?: true;
  /** It needs a C compiler. */
  cgo?: true;
  /** Directories of its module that it reads at run time: they are copied next to the binary. */
  data?: string[];
}

/** Kubernetes release that the tests run against, without the `v`; the environment may override it. */
export const kubernetesVersion = chosen('KUBERNETES_VERSION', '1.36.3');

/** Release of the modules that Kubernetes keeps in its staging directory and publishes separately, without the `v`. */
export const kubernetesStagingVersion = kubernetesVersion.replace(/^1\./, '0.');

const etcdVersion = '3.6.5';
/** Later releases declare a path other than the one under which they are published. */
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

/** Without a cluster, Helm 3 renders for 1.20 unless another version is stamped, and the chart refuses 1.20. */
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
  // Targets are given, not discovered: the clients of the clouds take most of the build time.
  tags: ['remove_all_sd'],
});

/** Source of each binary. */
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

/** A published file (a binary, or an archive with it), and its hash or the file with its checksum. */
export type Release = { url: string; hash: string } | { url: string; checksums: string };

const onGitHub = (repository: string, version: string, file: string, checksums: string): Release => {
  const directory = `https://github.com/${repository}/releases/download/v${version}`;
  return { url: `${directory}/${file}`, checksums: `${directory}/${checksums}` };
};

const prometheusRelease = onGitHub(
  'prometheus/prometheus',
  prometheusVersion,
  `prometheus-${prometheusVersion}.${platform}-${arch}.tar.gz`,
  'sha256sums.txt',
);

/**
 * SHA-256 of Helm's archives. Helm makes the files of a release, and a checksum from the server of the archive wouldn't
 * protect them. Go builds a version without an entry, and verifies it with Go's checksum database.
 */
const helmHashes: Record<string, string> = {
  '4.3.0-linux-amd64': '86584a54def73570558f66f5111cc53dfed56689637ae32c1201205d494f54fb',
  '4.3.0-linux-arm64': '31c5794dd55c66a51e6b7d2e2ac7a114ae8b1de41ff1d9ba51748ac973b06a08',
};

const helmHash = helmHashes[`${helmVersion}-${platform}-${arch}`];
const controllerManager = `https://dl.k8s.io/release/v${kubernetesVersion}/bin/linux/${arch}/kube-controller-manager`;

/** Published binaries for this platform. The rest of Kubernetes is published as one archive, which an index lists. */
export const releases: Partial<Record<BinaryName, Release>> = {
  ...(helmHash && {
    helm: { url: `https://get.helm.sh/helm-v${helmVersion}-${platform}-${arch}.tar.gz`, hash: helmHash },
  }),
  ...(platform === 'linux' && {
    'kube-controller-manager': { url: controllerManager, checksums: `${controllerManager}.sha512` },
  }),
  kubeconform: onGitHub('yannh/kubeconform', kubeconformVersion, `kubeconform-${platform}-${arch}.tar.gz`, 'CHECKSUMS'),
  prometheus: prometheusRelease,
  promtool: prometheusRelease,
};

/** Index of the archives with etcd, kube-apiserver and kubectl that are published for controller tests. */
export const envtestIndex =
  'https://raw.githubusercontent.com/kubernetes-sigs/controller-tools/HEAD/envtest-releases.yaml';

/** Binaries of an archive of that index. */
export const envtestNames: BinaryName[] = ['etcd', 'kube-apiserver', 'kubectl'];

/** Returns the version in an environment variable, such as `1.30.14`, or the default. Throws if it isn't a version. */
function chosen(variable: string, version: string): string {
  const given = process.env[variable] || version;
  if (!/^\d+\.\d+\.\d+$/.test(given)) throw new Error(`${variable} must be a version such as ${version}, not ${given}`);
  return given;
}

/** Returns a name for the build of a binary: it changes with the version, the build options, and the platform. */
export function cacheKey(name: BinaryName): string {
  const build = hash('sha256', JSON.stringify(sources[name])).slice(0, 8);
  return `${name}-${sources[name].version}-${platform}-${arch}-${build}`;
}

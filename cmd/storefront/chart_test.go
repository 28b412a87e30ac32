package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/db/dbtest/need"
	"go.storefront.example/ent/seal"
	"go.storefront.example/server/conformance/devtest"
)

// operatorModule defines resources of the Prometheus Operator that the chart renders.
const operatorModule = "github.com/prometheus-operator/prometheus-operator@v0.85.0"

type labels map[string]string

type object struct {
	Kind     string
	Metadata struct {
		Name        string
		Labels      labels
		Annotations map[string]string
	}
	Data, StringData map[string]string
	Spec             struct {
		Selector    struct{ MatchLabels labels }
		PodSelector struct{ MatchLabels labels }
		Ports       []struct{ TargetPort string }
		Endpoints   []struct{ Path string }
		Egress      []any
		Template    template
		JobTemplate struct{ Spec struct{ Template template } }
		Replicas    int
	}
}

type template struct {
	Metadata struct{ Labels labels }
	Spec     struct {
		Grace           int `json:"terminationGracePeriodSeconds"`
		Containers      []container
		SecurityContext struct{ FSGroup int }
		Volumes         []volume
	}
}

func (o object) pod() template {
	if o.Kind == "CronJob" {
		return o.Spec.JobTemplate.Spec.Template
	}
	return o.Spec.Template
}

type container struct {
	Command, Args []string
	Env           []struct {
		Name, Value string
		ValueFrom   struct {
			Secret struct {
				Name, Key string
				Optional  bool
			} `json:"secretKeyRef"`
		}
	}
	Ports []struct {
		Name          string
		ContainerPort int
	}
	StartupProbe, LivenessProbe, ReadinessProbe struct {
		HTTPGet struct{ Path, Port string }
	}
	VolumeMounts    []volumeMount `json:"volumeMounts"`
	SecurityContext struct {
		NonRoot  bool  `json:"runAsNonRoot"`
		User     int   `json:"runAsUser"`
		ReadOnly bool  `json:"readOnlyRootFilesystem"`
		Escalate *bool `json:"allowPrivilegeEscalation"`
	} `json:"securityContext"`
}

type volumeMount struct{ Name, MountPath string }

type volume struct {
	Claim  struct{ ClaimName string } `json:"persistentVolumeClaim"`
	Name   string
	Secret struct {
		SecretName  string
		DefaultMode os.FileMode
		Items       []struct{ Key, Path string }
	}
}

// mountedSecrets writes the files of the pod's Secrets, with the modes that the container's user sees, and maps their paths to
// those in the folder.
func mountedSecrets(t *testing.T, objects []object, volumes []volume, c container) map[string]string {
	t.Helper()
	files, folder := map[string]string{}, t.TempDir()
	for _, v := range volumes {
		for _, item := range v.Secret.Items {
			i := slices.IndexFunc(c.VolumeMounts, func(m volumeMount) bool { return m.Name == v.Name })
			require.NotEqual(t, -1, i, "%s is not mounted", v.Name)
			value, known := objectOf(t, objects, "Secret", v.Secret.SecretName).StringData[item.Key]
			require.True(t, known, "%s lacks %s", v.Secret.SecretName, item.Key)
			file := filepath.Join(folder, item.Path)
			require.NoError(t, os.WriteFile(file, []byte(value), 0o600))
			require.NoError(t, os.Chmod(file, v.Secret.DefaultMode))
			files[c.VolumeMounts[i].MountPath+"/"+item.Path] = file
		}
	}
	return files
}

// helm runs a command on the chart as for Kubernetes 1.30, or skips the test without helm.
func helm(t *testing.T, args ...string) (string, error) {
	t.Helper()
	program, err := exec.LookPath("helm")
	if err != nil {
		need.Missing(t, "this needs helm (.ci/tools FOLDER helm): %v", err)
	}
	command := exec.CommandContext(t.Context(), program, append(args, "--kube-version", "1.30")...)
	var said bytes.Buffer
	command.Stderr = &said
	out, err := command.Output()
	if err != nil {
		err = errors.New(err.Error() + ": " + said.String())
	}
	return string(out), err
}

// chart returns the rendered objects, which helm lint and kubectl-validate must accept.
func chart(t *testing.T, args ...string) []object {
	t.Helper()
	out, err := helm(t, append([]string{"lint", "--strict", "helm"}, args...)...)
	require.NoError(t, err, out)
	out, err = helm(t, append([]string{"template", "shop", "helm"}, args...)...)
	require.NoError(t, err)
	validate, err := exec.LookPath("kubectl-validate")
	if err != nil {
		need.Missing(t, "this needs kubectl-validate (.ci/tools FOLDER kubectl-validate): %v", err)
	}
	downloaded, err := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", operatorModule).Output()
	if err != nil {
		need.Missing(t, "this needs %s: %s", operatorModule, downloaded)
	}
	var module struct{ Dir string }
	require.NoError(t, json.Unmarshal(downloaded, &module))
	file := filepath.Join(t.TempDir(), "chart.yaml")
	require.NoError(t, os.WriteFile(file, []byte(out), 0o600))
	devtest.Run(t, "", nil, validate, file, "--version", "1.30", "--local-crds",
		filepath.Join(module.Dir, "example", "prometheus-operator-crd"))
	var objects []object
	for decoder := yaml.NewDecoder(strings.NewReader(out)); ; {
		var document any
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return objects
		}
		require.NoError(t, err)
		text, err := json.Marshal(document) // as JSON, because Go's decoder of JSON ignores the case of names
		require.NoError(t, err)
		var o object
		require.NoError(t, json.Unmarshal(text, &o))
		objects = append(objects, o)
	}
}

func (l labels) has(wanted labels) bool {
	for name, value := range wanted {
		if l[name] != value {
			return false
		}
	}
	return len(wanted) > 0
}

func objectOf(t *testing.T, objects []object, kind, name string) object {
	t.Helper()
	i := slices.IndexFunc(objects, func(o object) bool { return o.Kind == kind && o.Metadata.Name == name })
	require.NotEqual(t, -1, i, "%s %s", kind, name)
	return objects[i]
}

func TestChartFitsTheCommands(t *testing.T) {
	t.Parallel()
	devtest.TrackSources(t)
	made := []string{"--set", "secrets.databaseUrl=postgres://db/storefront,secrets.secretKey=" + seal.NewKey() +
		",secrets.adminToken=the-token-of-the-charts-operator"}
	sqlite := []string{"--set", "sqlite.claim=data,backup.claim=backups,backup.schedule=15 3 * * *,secrets.databaseUrl=sqlite:/data/storefront.db," +
		"secrets.secretKey=" + seal.NewKey() + ",secrets.adminToken=the-token-of-the-charts-operator"}
	for name, args := range map[string][]string{"made": made, "existing": {"--values", "testdata/helm.yaml"}, "sqlite": sqlite} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objects := chart(t, args...)
			pods, ports := map[string]labels{}, map[string][]string{}
			for _, o := range objects {
				for _, c := range o.pod().Spec.Containers {
					require.Equal(t, []string{"/storefront"}, c.Command)
					requireCommand(t, c.Args...)
					for _, v := range c.Env {
						if strings.HasPrefix(v.Name, "STOREFRONT_") && v.Name != "STOREFRONT_CONFIG" {
							requireVariable(t, v.Name)
						}
					}
					require.True(t, c.SecurityContext.NonRoot && c.SecurityContext.ReadOnly && !*c.SecurityContext.Escalate)
					require.Equal(t, 65532, c.SecurityContext.User, "the user of the image")
					require.Equal(t, 65532, o.pod().Spec.SecurityContext.FSGroup, "the group that reads the secrets")
					pods[c.Args[0]] = o.pod().Metadata.Labels
					for _, p := range c.Ports {
						ports[c.Args[0]] = append(ports[c.Args[0]], p.Name)
					}
				}
			}
			require.Len(t, pods, map[string]int{"made": 3, "existing": 3, "sqlite": 4}[name])
			// Kubernetes gives no warning if a selector matches no pod.
			for _, o := range objects {
				component := o.Metadata.Labels["app.kubernetes.io/component"]
				switch o.Kind {
				case "Deployment", "PodDisruptionBudget":
					require.True(t, pods[component].has(o.Spec.Selector.MatchLabels), "%s", o.Metadata.Name)
				case "NetworkPolicy":
					require.True(t, pods[component].has(o.Spec.PodSelector.MatchLabels), "%s", o.Metadata.Name)
					require.Equal(t, component == "backup", len(o.Spec.Egress) == 0)
				case "ServiceMonitor":
					require.Equal(t, "/metrics", o.Spec.Endpoints[0].Path)
					for _, service := range []string{"shop-storefront-server-operator", "shop-storefront-worker-operator"} {
						require.True(t, objectOf(t, objects, "Service", service).Metadata.Labels.has(o.Spec.Selector.MatchLabels))
					}
				case "Service":
					for _, p := range o.Spec.Ports {
						require.Contains(t, ports[component], p.TargetPort)
					}
				case "Job":
					require.Contains(t, o.Metadata.Annotations["helm.sh/hook"], "pre-upgrade")
				}
			}
			if name == "sqlite" { // the pods share the volume with the database, and one pod writes to the volume for backups
				claims := map[string]int{}
				for _, o := range objects {
					for _, v := range o.pod().Spec.Volumes {
						claims[v.Claim.ClaimName]++
					}
				}
				require.Equal(t, map[string]int{"data": 4, "backups": 1, "": 6}, claims)
				require.Equal(t, 1, objectOf(t, objects, "Deployment", "shop-storefront-server").Spec.Replicas)
				cron := objectOf(t, objects, "CronJob", "shop-storefront-backup").pod().Spec.Containers[0]
				require.Equal(t, []string{"backup", "--to", "/backups", "--keep", "14"}, cron.Args)
			}
			if name == "existing" {
				objectOf(t, objects, "ServiceMonitor", "shop-storefront")
				objectOf(t, objects, "Ingress", "shop-storefront")
				objectOf(t, objects, "HorizontalPodAutoscaler", "shop-storefront-server")
				require.False(t, slices.ContainsFunc(objects, func(o object) bool { return o.Kind == "Secret" }))
			}
		})
	}
}

func TestWhatTheChartRunsIsReady(t *testing.T) {
	t.Parallel()
	devtest.TrackSources(t)
	objects := chart(t, "--set", "secrets.databaseUrl="+"postgres://db/storefront", "--set", "secrets.secretKey="+seal.NewKey(),
		"--set", "secrets.adminToken=the-token-of-the-charts-operator", "--set", "secrets.oldSecretKeys="+seal.NewKey(),
		"--set", "secrets.noticesSecret=whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8", "--set",
		"settings.notices-url=https://mailer.example.com/notices", "--set", "settings.docs=true", "--set", `settings.trusted-proxies=10.0.0.0/8\,fd00::/8`, "--set",
		"settings.max-connections=1000000")
	settings := filepath.Join(t.TempDir(), "settings.yaml")
	require.NoError(t, os.WriteFile(settings, []byte(objectOf(t, objects, "ConfigMap", "shop-storefront").Data["settings.yaml"]),
		0o600))
	i := installation{t, map[string]string{}}
	url := dbtest.URL(t, dbtest.Postgres)
	for component, ready := range map[string]string{"server": "listening", "worker": "delivering"} {
		spec := objectOf(t, objects, "Deployment", "shop-storefront-"+component).Spec.Template.Spec
		c := spec.Containers[0]
		files := mountedSecrets(t, objects, spec.Volumes, c)
		require.Greater(t, time.Duration(spec.Grace)*time.Second, grace, component)
		for _, v := range c.Env {
			value := v.Value
			if secret := v.ValueFrom.Secret; secret.Name != "" {
				var known bool
				value, known = objectOf(t, objects, "Secret", secret.Name).StringData[secret.Key]
				require.True(t, known || secret.Optional, "%s", v.Name)
				if !known {
					continue
				}
			}
			if strings.HasSuffix(v.Name, fileSuffix) {
				require.Contains(t, files, value, v.Name)
				value = files[value]
			}
			i.env[v.Name] = value
		}
		require.NoError(t, os.Chmod(i.env["STOREFRONT_DATABASE_URL_FILE"], 0o600))
		require.Equal(t, "/etc/storefront/settings.yaml", i.env["STOREFRONT_CONFIG"])
		require.Equal(t, ":8081", i.env["STOREFRONT_ADMIN_ADDR"])
		require.Equal(t, 8081, c.Ports[len(c.Ports)-1].ContainerPort)
		require.Equal(t, "/etc/storefront", c.VolumeMounts[0].MountPath)
		i.env["STOREFRONT_CONFIG"] = settings
		require.NoError(t, os.WriteFile(i.env["STOREFRONT_DATABASE_URL_FILE"], []byte(url), 0o600))
		i.env["STOREFRONT_ADDR"], i.env["STOREFRONT_ADMIN_ADDR"] = "127.0.0.1:0", "127.0.0.1:0"
		p := i.start("storefront", ready, c.Args...)
		// The settings file turns on /docs, so an answer shows that the server has read it.
		if component == "server" {
			answer, err := http.Get("http://" + p.Addr + "/docs")
			require.NoError(t, err)
			require.NoError(t, answer.Body.Close())
			require.Equal(t, http.StatusOK, answer.StatusCode)
		}
		for _, probe := range []string{c.StartupProbe.HTTPGet.Path, c.LivenessProbe.HTTPGet.Path, c.ReadinessProbe.HTTPGet.Path,
			"/metrics"} {
			answer, err := http.Get("http://" + p.AdminAddr + probe)
			require.NoError(t, err)
			require.NoError(t, answer.Body.Close())
			require.Equal(t, http.StatusOK, answer.StatusCode, "%s %s", component, probe)
		}
	}
}

func TestChartSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	for want, set := range map[string]string{
		"secrets.databaseUrl must be a postgres:// URL": "secrets.databaseUrl=sqlite:/data/storefront.db",
		"secrets.databaseUrl must be sqlite:/data/":     "sqlite.claim=c,secrets.databaseUrl=postgres://db/storefront",
		"backup.schedule needs sqlite.claim":            "backup.schedule=@daily,backup.claim=c,secrets.databaseUrl=postgres://db/storefront,secrets.secretKey=k,secrets.adminToken=a",
		"server.autoscaling needs PostgreSQL":           "sqlite.claim=c,server.autoscaling.enabled=true,secrets.databaseUrl=sqlite:/data/s.db,secrets.secretKey=k,secrets.adminToken=a",
		"secrets.secretKey is missing":                  "secrets.databaseUrl=postgres://db/storefront",
		"secrets.adminToken is missing":                 "secrets.databaseUrl=postgres://db/storefront,secrets.secretKey=k",
	} {
		_, err := helm(t, "template", "shop", "helm", "--set", set)
		require.ErrorContains(t, err, want)
	}
}

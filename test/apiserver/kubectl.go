package apiserver

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kinform/kinform/test/apiserver/servers"
)

// Kubectl runs kubectl against the server of config, which can be any server,
// and returns what it printed. The error has the arguments and what kubectl
// complained of.
func Kubectl(ctx context.Context, config *rest.Config, args ...string) (stdout, stderr string, err error) {
	dir, err := os.MkdirTemp("", "kinform-kubectl-")
	if err != nil {
		return "", "", fmt.Errorf("run kubectl: %w", err)
	}
	defer os.RemoveAll(dir)
	cmd, err := KubectlCommand(ctx, dir, config, args...)
	if err != nil {
		return "", "", err
	}
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := cmd.Run(); err != nil {
		err = fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(complaints.Bytes()))
		return out.String(), complaints.String(), err
	}
	return out.String(), complaints.String(), nil
}

// KubectlCommand is for runs of kubectl that want an input or whose output is
// read as it comes: the command is the caller's to start and to wait for.
// Configuration and caches go to dir, and nothing of the user's is read. When
// ctx ends, kubectl is interrupted.
func KubectlCommand(ctx context.Context, dir string, config *rest.Config, args ...string) (*exec.Cmd, error) {
	path, err := servers.Path("kubectl")
	if err != nil {
		return nil, err
	}
	kubeconfig := filepath.Join(dir, "kubeconfig")
	content, err := kubeconfigFor(config)
	if err != nil {
		return nil, err
	}
	if err := clientcmd.WriteToFile(*content, kubeconfig); err != nil {
		return nil, fmt.Errorf("write the configuration of kubectl: %w", err)
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "KUBECACHEDIR="+filepath.Join(dir, "cache"), "HOME="+dir)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	return cmd, nil
}

// kubeconfigFor says in a kubeconfig what config says. Paging, rate limits and
// content types are not part of one.
func kubeconfigFor(config *rest.Config) (*clientcmdapi.Config, error) {
	const name = "test"
	host, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("write the configuration of kubectl: %w", err)
	}
	k := clientcmdapi.NewConfig()
	k.Clusters[name] = &clientcmdapi.Cluster{
		Server:                   host.String(),
		CertificateAuthority:     config.CAFile,
		CertificateAuthorityData: config.CAData,
		InsecureSkipTLSVerify:    config.Insecure,
		TLSServerName:            config.ServerName,
	}
	k.AuthInfos[name] = &clientcmdapi.AuthInfo{
		ClientCertificate:     config.CertFile,
		ClientCertificateData: config.CertData,
		ClientKey:             config.KeyFile,
		ClientKeyData:         config.KeyData,
		Token:                 config.BearerToken,
		TokenFile:             config.BearerTokenFile,
		Username:              config.Username,
		Password:              config.Password,
		Impersonate:           config.Impersonate.UserName,
		ImpersonateUID:        config.Impersonate.UID,
		ImpersonateGroups:     config.Impersonate.Groups,
		ImpersonateUserExtra:  config.Impersonate.Extra,
	}
	k.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	k.CurrentContext = name
	return k, nil
}

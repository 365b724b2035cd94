package cli

import (
	"errors"
	"io/fs"
	"os"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// writeKubeconfig writes a kubeconfig for a server without credentials. It does
// not replace a file. The function that it returns removes it again.
func writeKubeconfig(path, url string) (remove func(), err error) {
	const name = "kinform-demo"
	c := clientcmdapi.NewConfig()
	c.Clusters[name] = &clientcmdapi.Cluster{Server: url}
	c.AuthInfos[name] = &clientcmdapi.AuthInfo{}
	c.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	c.CurrentContext = name
	raw, err := clientcmd.Write(*c)
	if err != nil {
		return nil, &problem{what: "cannot write a kubeconfig", why: innermost(err), cause: err}
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, &problem{what: "cannot write " + path, why: "it exists", do: "choose another name, or remove it", cause: err}
	}
	if err == nil {
		_, err = f.Write(raw)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return nil, &problem{what: "cannot write " + path, why: innermost(err), cause: err}
	}
	return func() { _ = os.Remove(path) }, nil
}

// Tests the webhooks of `rego-platform serve` with the types and the code of their clients: a server of Kubernetes, and
// Gatekeeper. `.ci/go` runs them.
package kubernetes

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/open-policy-agent/frameworks/constraint/pkg/apis/externaldata/unversioned"
	"github.com/open-policy-agent/frameworks/constraint/pkg/externaldata"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/request"
)

const (
	secret = "0123456789abcdef-secret"
	digest = "sha256:8fa6a879c355b05ef8c7f69c7b6ac9639f6dfe210bead32bde743cb549b69477"
	policy = `package p

deny contains sprintf("%s may not run it", [user]) if {
	startswith(input.reference, "bad.example/")
	user := object.get(input, ["request", "userInfo", "username"], "nobody")
}

deny contains "not found by the service" if platform.discover(input.image, "").kind != "CONTAINER_IMAGE"

warn contains "it is old" if contains(input.reference, "/old@")
`
)

// authority signs certificates for 127.0.0.1.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	check(t, err)
	certificate, err := x509.ParseCertificate(signed)
	check(t, err)
	return &authority{certificate, key}
}

func (a *authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.certificate.Raw})
}

// sign returns a certificate and its key.
func (a *authority) sign(t *testing.T) ([]byte, []byte) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "127.0.0.1"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, a.key)
	check(t, err)
	encoded, err := x509.MarshalECPrivateKey(key)
	check(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed}),
		pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: encoded})
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// serve starts a server with TLS and the secret, and returns its address.
func serve(t *testing.T, server *authority, clients *authority, options ...string) string {
	t.Helper()
	command := os.Getenv("REGO_PLATFORM")
	if command == "" {
		t.Fatal("REGO_PLATFORM isn't set: `.ci/go` builds the command and runs these tests")
	}
	folder := t.TempDir()
	file := func(name string, text []byte) string {
		path := filepath.Join(folder, name)
		check(t, os.WriteFile(path, text, 0o600))
		return path
	}
	certificate, key := server.sign(t)
	arguments := append([]string{
		"serve", "-d", file("p.rego", []byte(policy)), "--local", "../../../testdata/platform", "--listen", "127.0.0.1:0",
		"--tls-cert", file("cert.pem", certificate), "--tls-key", file("key.pem", key),
		"--webhook-secret", file("secret", []byte(secret+"\n")),
	}, options...)
	if clients != nil {
		arguments = append(arguments, "--tls-client-ca", file("clients.pem", clients.pem()))
	}
	started := exec.Command(command, arguments...)
	said, err := started.StderrPipe()
	check(t, err)
	check(t, started.Start())
	t.Cleanup(func() {
		_ = started.Process.Kill()
		_ = started.Wait()
	})
	lines := bufio.NewScanner(said)
	for lines.Scan() {
		if rest, ok := strings.CutPrefix(lines.Text(), "serving "); ok {
			go func() {
				for lines.Scan() {
				}
			}()
			return strings.TrimSuffix(rest, " until interrupted")
		}
	}
	t.Fatal("the server doesn't serve")
	return ""
}

func pod(image string) runtime.RawExtension {
	object := corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: corev1.PodSpec{
			InitContainers: []corev1.Container{{Name: "init", Image: "good.example/init@" + digest}},
			Containers:     []corev1.Container{{Name: "web", Image: image}},
		},
	}
	raw, err := json.Marshal(object)
	if err != nil {
		panic(err)
	}
	return runtime.RawExtension{Raw: raw}
}

func TestAServerOfKubernetesUnderstandsTheResponse(t *testing.T) {
	authority := newAuthority(t)
	address := serve(t, authority, nil)
	roots := x509.NewCertPool()
	roots.AddCert(authority.certificate)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	for _, test := range []struct {
		image, message, warning string
		allowed                 bool
		code                    int32
	}{
		{image: "good.example/app@" + digest, allowed: true},
		{image: "good.example/old@" + digest, allowed: true, warning: "it is old (`good.example/old@" + digest + "`)"},
		{image: "bad.example/app@" + digest, code: 403, message: "admin may not run it"},
		{image: "good.example/app:1", code: 500, message: "the reference has no digest"},
		{image: "good.example/app@sha256:" + strings.Repeat("0", 64), code: 500, message: "not found"},
	} {
		review := admissionv1.AdmissionReview{
			TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
			Request: &admissionv1.AdmissionRequest{
				UID:       "705ab4f5-6393-11e8-b7cc-42010a800002",
				Kind:      metav1.GroupVersionKind{Version: "v1", Kind: "Pod"},
				Resource:  metav1.GroupVersionResource{Version: "v1", Resource: "pods"},
				Operation: admissionv1.Create,
				Object:    pod(test.image),
			},
		}
		review.Request.UserInfo.Username = "admin"
		body, err := json.Marshal(review)
		check(t, err)
		answer, err := client.Post(address+"/v1/admission/"+secret+"?timeout=10s", "application/json", bytes.NewReader(body))
		check(t, err)
		strict := json.NewDecoder(answer.Body)
		strict.DisallowUnknownFields()
		var answered admissionv1.AdmissionReview
		check(t, strict.Decode(&answered))
		check(t, answer.Body.Close())
		// What the server itself makes of it.
		result, err := request.VerifyAdmissionResponse(review.Request.UID, false, &answered)
		check(t, err)
		if answer.StatusCode != http.StatusOK || result.Allowed != test.allowed {
			t.Fatalf("%s: %d %+v", test.image, answer.StatusCode, result)
		}
		if !test.allowed && (result.Result.Code != test.code || !strings.Contains(result.Result.Message, test.message)) {
			t.Fatalf("%s: %+v", test.image, result.Result)
		}
		if found := strings.Join(result.Warnings, "\n"); found != test.warning {
			t.Fatalf("%s: %s", test.image, found)
		}
	}
}

func TestGatekeeperUnderstandsTheProvider(t *testing.T) {
	server, clients := newAuthority(t), newAuthority(t)
	address := serve(t, server, clients)
	certificate, key := clients.sign(t)
	own, err := tls.X509KeyPair(certificate, key)
	check(t, err)
	ask := func(path string, own *tls.Certificate, keys ...string) (*externaldata.ProviderResponse, error) {
		provider := &unversioned.Provider{}
		provider.Name = path + t.Name()
		if own == nil {
			provider.Name += "-without"
		}
		provider.Spec.URL = address + path
		provider.Spec.Timeout = 3
		provider.Spec.CABundle = base64.StdEncoding.EncodeToString(server.pem())
		response, status, err := externaldata.DefaultSendRequestToProvider(context.Background(), provider, keys, own)
		if err == nil && status != http.StatusOK {
			t.Fatal(status)
		}
		return response, err
	}
	good, bad, none := "good.example/app@"+digest, "bad.example/app@"+digest, "good.example/app:1"
	response, err := ask("/v1/provider/"+secret, &own, good, bad, none)
	check(t, err)
	found := externaldata.NewRegoResponse(http.StatusOK, response)
	if response.APIVersion != "externaldata.gatekeeper.sh/v1beta1" || response.Kind != externaldata.ProviderResponseKind {
		t.Fatal(response)
	}
	if len(found.Responses) != 1 || found.Responses[0][0] != good || found.Responses[0][1] != good ||
		!response.Response.Idempotent || found.SystemError != "" {
		t.Fatalf("%+v", found)
	}
	if len(found.Errors) != 2 || found.Errors[0][0] != bad || found.Errors[0][1] != "nobody may not run it" ||
		!strings.Contains(found.Errors[1][1].(string), "no digest") {
		t.Fatalf("%+v", found.Errors)
	}
	// Without the secret, Gatekeeper sees an error, and without a certificate there is no connection.
	response, err = ask("/v1/provider", &own, good)
	check(t, err)
	if response.Response.SystemError == "" || len(response.Response.Items) != 0 {
		t.Fatalf("%+v", response)
	}
	if _, err := ask("/v1/provider/"+secret, nil, good); err == nil {
		t.Fatal("a client without a certificate was answered")
	}
}

func TestTheProviderAnswersInGatekeepersTime(t *testing.T) {
	server := newAuthority(t)
	address := serve(t, server, nil, "--fault", "discover:latency=30s")
	provider := &unversioned.Provider{}
	provider.Name = t.Name()
	provider.Spec.URL = address + "/v1/provider/" + secret
	provider.Spec.Timeout = 3
	provider.Spec.CABundle = base64.StdEncoding.EncodeToString(server.pem())
	response, _, err := externaldata.DefaultSendRequestToProvider(context.Background(), provider, []string{"good.example/app@" + digest}, nil)
	check(t, err)
	if len(response.Response.Items) != 1 || !strings.Contains(response.Response.Items[0].Error, "timed out") {
		t.Fatalf("%+v", response)
	}
}

package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const isLive = `document.querySelector("#link").dataset.state === "live"`

// TestLive: the page loads, and shows what happens in the cluster while it happens.
func TestLive(t *testing.T) {
	w := shop(t)
	b := w.open()
	b.visit("")
	b.until(isLive)
	if n := eval[int](b, `document.querySelectorAll("#informers tbody tr").length`); n != 6 {
		t.Errorf("%d informers, want 6:\n%s", n, b.text())
	}
	b.until(`document.querySelector("#state-pods").textContent === "watching"`)
	b.until(`document.querySelector("#chart-events").getAttribute("d").length > 20`)
	b.until(`Number(document.querySelector("#rate-events").textContent) > 0`)
	before := eval[string](b, `document.querySelector("#objects-secrets").textContent`)
	secret, err := w.client.CoreV1().Secrets("default").Get(t.Context(), "login", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	secret.ObjectMeta = metav1.ObjectMeta{Name: "another", Namespace: "default"}
	if _, err := w.client.CoreV1().Secrets("default").Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	b.until(fmt.Sprintf(`Number(document.querySelector("#objects-secrets").textContent) === Number(%q) + 1`, before))
}

// TestFilter: typing leaves the informers that match.
func TestFilter(t *testing.T) {
	b := shop(t).open()
	b.visit("")
	b.until(isLive)
	shown := `[...document.querySelectorAll("#informers tbody tr")].filter(r => r.checkVisibility()).map(r => r.id).join()`
	b.do(chromedp.SendKeys("#q", "NODE"))
	b.until(shown + ` === "row-nodes"`)
	b.do(chromedp.SendKeys("#q", kb.Enter))
	b.until(`location.search === "?q=NODE"`)
	b.until(shown + ` === "row-nodes"`)
}

// TestBroken: an informer that fails says why, at a glance and in detail.
func TestBroken(t *testing.T) {
	b := shop(t).open()
	b.visit("")
	b.until(`document.querySelector("#row-configmaps").dataset.state === "bad"`)
	b.until(`document.querySelector("#cause-configmaps").textContent.startsWith("forbidden")`)
	b.until(`document.querySelector("#failing").textContent === "1"`)
	b.do(chromedp.Click(`#row-configmaps a`))
	b.until(isLive)
	b.until(`document.querySelector("#cause").checkVisibility() && document.querySelector("#cause").textContent.startsWith("forbidden")`)
	b.until(`document.querySelector("#history").textContent.includes("forbidden")`)
}

// TestChanges: changes come with their fields while one looks, and Secrets keep theirs.
func TestChanges(t *testing.T) {
	w := shop(t)
	b := w.open()
	b.visit("informer?i=secrets")
	b.until(isLive)
	patch := []byte(`{"data":{"password":"Y29ycmVjdC1ob3JzZQ=="},"metadata":{"labels":{"rotated":"yes"}}}`)
	if _, err := w.client.CoreV1().Secrets("default").Patch(t.Context(), "login", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	b.until(`document.querySelector("#changes").textContent.includes("data.password")`)
	b.until(`document.querySelector("#changes").textContent.includes("(hidden, changed)")`)
	b.until(`document.querySelector("#hottest").textContent.includes("default/login")`)
	b.do(chromedp.Click(`#changes a`))
	b.until(`document.querySelector(".yaml")?.textContent.includes("kind: Secret")`)
	if text := b.text(); strings.Contains(text, "Y29ycmVjdC1ob3JzZQ") || strings.Contains(text, "correct-horse") {
		t.Errorf("the value is shown:\n%s", text)
	}

	b.visit("informer?i=pods")
	b.until(isLive)
	b.until(`document.querySelectorAll("#changes > li ins").length > 2`)
	b.do(chromedp.Click("#pause"))
	b.until(`document.querySelector("#pause").getAttribute("aria-pressed") === "true"`)
	b.until(`document.querySelector("#left-out").textContent.includes("left out")`)
}

// TestKeyboard goes from the overview to an object, without a mouse.
func TestKeyboard(t *testing.T) {
	b := shop(t).open()
	b.visit("")
	b.until(isLive)
	b.do(chromedp.KeyEvent(kb.Tab))
	b.until(`document.activeElement.className === "skip"`)
	b.tabTo(`document.activeElement.closest("#row-pods th") !== null`)
	if w := eval[string](b, `getComputedStyle(document.activeElement).outlineWidth`); w != "2px" {
		t.Errorf("what has the focus is not seen: its outline is %s", w)
	}
	b.do(chromedp.KeyEvent(kb.Enter))
	b.until(`location.search === "?i=pods" && ` + isLive)
	b.do(slash(input.DispatchKeyEventTypeKeyDown, "/"), slash(input.DispatchKeyEventTypeKeyUp, ""))
	b.until(`document.activeElement.id === "q"`)
	b.do(chromedp.KeyEvent("-"), chromedp.KeyEvent(kb.Enter))
	b.until(`location.pathname.endsWith("/objects") && document.querySelectorAll(".objects tbody tr").length > 5`)
	b.tabTo(`document.activeElement.closest(".objects th") !== null`)
	b.do(chromedp.KeyEvent(kb.Enter))
	b.until(`document.querySelector(".yaml")?.textContent.includes("kind: Pod")`)
	b.tabTo(`document.activeElement.className === "yaml"`) // it scrolls by keyboard
}

// slash is what the key does in one: chromedp sends the character by itself, also where
// the page has taken the key.
func slash(what input.DispatchKeyEventType, text string) chromedp.Action[chromedp.Void] {
	return command(input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: what, Key: "/", Code: "Slash", Text: text})
}

// tabTo presses the tab key until a condition is true.
func (b *browser) tabTo(condition string) {
	b.Helper()
	for range 40 {
		b.do(chromedp.KeyEvent(kb.Tab))
		if eval[bool](b, condition) {
			return
		}
	}
	b.Fatalf("the tab key does not lead to %s", condition)
}

// TestFocusStays: what is renewed while one is in it does not lose the place.
func TestFocusStays(t *testing.T) {
	b := shop(t).open()
	b.visit("informer?i=pods")
	b.until(isLive)
	b.until(`document.querySelector("#hottest a") !== null`)
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector("#hottest a").focus(); window.held = document.activeElement; window.was = Number(document.body.dataset.updates)`))
	b.until(`Number(document.body.dataset.updates) > window.was + 2`)
	if !eval[bool](b, `document.activeElement === window.held && window.held.isConnected`) {
		t.Error("the focus was lost")
	}
}

// TestDark: the page is dark where the reader wants it to be, and can be read.
func TestDark(t *testing.T) {
	b := shop(t).open()
	for _, scheme := range []string{"light", "dark"} {
		b.do(inScheme(scheme))
		b.visit("informer?i=pods")
		b.until(isLive)
		if paper := eval[float64](b, colours+`shade("--paper")`); (paper < 0.2) != (scheme == "dark") {
			t.Errorf("%s: the paper has a luminance of %.2f", scheme, paper)
		}
		if body := eval[string](b, `getComputedStyle(document.documentElement).backgroundColor`); body != eval[string](b, colours+`colour("--paper")`) {
			t.Errorf("%s: the page is %s", scheme, body)
		}
		for pair, least := range map[[2]string]float64{
			{"--ink", "--paper"}: 7, {"--ink", "--sheet"}: 7, {"--ink", "--tint"}: 7, {"--ink", "--ins"}: 7, {"--ink", "--del"}: 7,
			{"--soft", "--paper"}: 4.5, {"--soft", "--sheet"}: 4.5, {"--soft", "--tint"}: 4.5, {"--link", "--paper"}: 4.5, {"--link", "--sheet"}: 4.5,
			{"--good", "--sheet"}: 4.5, {"--busy", "--sheet"}: 4.5, {"--bad", "--sheet"}: 4.5, {"--bad", "--badtint"}: 4.5, {"--focus", "--paper"}: 3,
		} {
			if got := eval[float64](b, colours+fmt.Sprintf("contrast(%q, %q)", pair[0], pair[1])); got < least {
				t.Errorf("%s: %s on %s has a contrast of %.1f, want %.1f", scheme, pair[0], pair[1], got, least)
			}
		}
	}
}

// inScheme has the browser prefer light or dark pages.
func inScheme(scheme string) chromedp.Action[chromedp.Void] {
	return command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
}

// colours has functions that read the page's colours as WCAG does.
const colours = `
var colour = (name) => {
	const probe = document.body.appendChild(document.createElement("i"));
	probe.style.color = "var(" + name + ")";
	const text = getComputedStyle(probe).color;
	probe.remove();
	return text;
};
var shade = (name) => {
	const [r, g, b] = colour(name).match(/[\d.]+/g).map(v => v / 255).map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
	return .2126 * r + .7152 * g + .0722 * b;
};
var contrast = (ink, paper) => {
	const [x, y] = [shade(ink), shade(paper)];
	return (Math.max(x, y) + .05) / (Math.min(x, y) + .05);
};
`

// TestPhone: on a phone, nothing has to be moved sideways.
func TestPhone(t *testing.T) {
	b := shop(t).open()
	b.do(chromedp.EmulateViewport(390, 844, chromedp.EmulateScale(2), chromedp.EmulateMobile))
	b.visit("objects?i=pods")
	key := eval[string](b, `document.querySelector(".objects tbody a").href`)
	for _, path := range []string{"", "informer?i=pods", "informer?i=configmaps", "objects?i=pods", "index?i=pods&x=node", strings.TrimPrefix(key, b.url+"/")} {
		b.visit(path)
		b.until(`document.readyState === "complete"`)
		if wide := eval[int](b, `document.scrollingElement.scrollWidth`); wide > 390 {
			t.Errorf("%q is %d wide, want 390", path, wide)
		}
	}
	b.visit("")
	b.until(isLive)
	b.until(`document.querySelector("#chart-events").getAttribute("d").length > 200`)
	b.shoot("page-phone")
}

// TestWithoutScript: every view is there without JavaScript.
func TestWithoutScript(t *testing.T) {
	b := shop(t).open()
	b.visit("")
	b.until(isLive)
	b.until(`document.querySelector("#chart-events").getAttribute("d").length > 20`) // something was counted
	b.do(command(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}))
	for path, want := range map[string]string{
		"": "watching", "informer?i=pods": "reconciler", "objects?i=pods": "The next ones", "index?i=pods&x=node": "12 values",
		"informer?i=configmaps": "forbidden", "object?i=secrets&key=default/login": "password: (hidden)",
	} {
		b.visit(path)
		if text := run(b, chromedp.Text("main")); !strings.Contains(text, want) {
			t.Errorf("%q does not show %q:\n%s", path, want, text)
		}
	}
}

// TestScreenshots writes them, with -screenshots.
func TestScreenshots(t *testing.T) {
	b := shop(t).open()
	for _, scheme := range []string{"light", "dark"} {
		b.do(inScheme(scheme))
		b.visit("")
		b.until(isLive)
		b.until(`document.querySelector("#row-configmaps").dataset.state === "bad"`)
		b.until(`document.querySelector("#chart-events").getAttribute("d").length > 200`)
		b.shoot("page-" + scheme)
		b.visit("informer?i=pods")
		b.until(isLive)
		b.until(`document.querySelectorAll("#changes > li").length > 8`)
		if scheme == "light" {
			b.shoot("page-informer")
		}
	}
}

package main

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
)

func TestLogFormats(t *testing.T) {
	var b bytes.Buffer
	log := newLog(&b, slog.LevelInfo, true)
	log.Debug("not this")
	log.Info("this", "request", "x")
	var line map[string]any
	if err := json.Unmarshal(b.Bytes(), &line); err != nil || line["msg"] != "this" || line["request"] != "x" {
		t.Errorf("%v: %s", err, &b)
	}
	b.Reset()
	newLog(&b, slog.LevelInfo, false).Info("this", "request", "x")
	if !strings.Contains(b.String(), "msg=this request=x") {
		t.Errorf("%s", &b)
	}
}

package ntfy

// SetForTest fills keys in as the configuration does.
func SetForTest(of any, topic, token string) {
	k := of.(*keys)
	k.Topic, k.Token = topic, token
}
